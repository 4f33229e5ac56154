// The handlers of a run: their libraries, and calling them.
#pragma once

#include "base/settings.h"
#include "fade/handler_abi.h"
#include "stream/output.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fade {

/// One loaded handler. The library stays loaded for good: its threads of execution may still be in
/// it when the process exits.
class LoadedHandler {
public:
  LoadedHandler(const fade_handler_api *api, const HandlerChoice &choice, Output &output);
  ~LoadedHandler();
  LoadedHandler(const LoadedHandler &) = delete;
  LoadedHandler &operator=(const LoadedHandler &) = delete;

  bool ok() const { return instance_ != nullptr; }
  const std::string &error() const { return error_; }
  uint32_t needs() const { return api_.needs; }
  /// FADE_TAKES_*
  uint32_t takes() const { return api_.takes && instance_ ? api_.takes(instance_) : 0; }
  const char *name() const { return api_.name; }

  /// A call that crashed. The thread it happened in must not allocate or free any more (see
  /// containCall), so another one has to say it.
  struct Crash {
    const char *call = nullptr;
    int signal = 0;
    bool is_first = false; ///< of this handler
    explicit operator bool() const { return signal != 0; }
  };
  void say(const Crash &crash) const noexcept;

  // The calls of fade_handler_api. One that throws or crashes is named once; the handler is then
  // left alone, and everything else goes on.
  void *shard(const fade_dispatch &dispatch, Crash &crash) noexcept;
  void records(void *shard, const fade_batch &batch, Crash &crash) noexcept;
  void dispatchEnd(const fade_dispatch &dispatch, std::span<void *const> shards,
                   Crash &crash) noexcept;
  void shardFree(void *shard, Crash &crash) noexcept;
  void report(Crash &crash) noexcept;
  /// The instance is gone after it.
  void destroy(Crash &crash) noexcept;
  /// From now on it is not called any more.
  void leaveOut() noexcept { failed_.store(true, std::memory_order_relaxed); }

private:
  template <typename F> void call(const char *what, Crash &crash, F &&f) noexcept;

  const fade_handler_api api_;
  fade_host host_{};
  void *instance_ = nullptr;
  std::string error_;
  std::atomic<bool> failed_{false};
};

using Handlers = std::vector<std::unique_ptr<LoadedHandler>>;

/// What is wrong with an API that a library returned, or nothing.
std::string apiFault(const fade_handler_api *api);

/// A struct that begins with its size, as this FADE knows it: what is not there in an older one is
/// null, and what is there in a newer one is left out.
template <typename T> T knownPartOf(const T &theirs) {
  T known{};
  std::memcpy(&known, &theirs, std::min<std::size_t>(theirs.size, sizeof known));
  return known;
}

/// Loads what was chosen, from `directory` unless it is a path. One that cannot be used is named,
/// with the reason, in `complaints`.
Handlers loadHandlers(const std::vector<HandlerChoice> &choices, const std::string &directory,
                      Output &output, std::vector<std::string> &complaints);

/// The directory of the library that this code is in.
std::string ownDirectory();

} // namespace fade
