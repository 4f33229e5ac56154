#include "stream/handler_set.h"

#include "base/contain.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "fade/options.h"

#include <array>
#include <cstddef>
#include <dlfcn.h>
#include <filesystem>
#include <utility>

namespace fade {
namespace {

void writeLines(void *context, const char *text, fade_u64 size) {
  static_cast<Output *>(context)->write({text, size});
}
int writeFile(void *context, const char *path, const char *data, fade_u64 size) {
  return static_cast<Output *>(context)->writeFile(path, {data, size}) ? 1 : 0;
}
void warnUser(void *, const char *text) { sayLine(text); }

/// Where the library of a choice may be, best first.
std::vector<std::string> candidates(const std::string &name, const std::string &directory) {
  if (name.find('/') != std::string::npos) return {name};
  const std::string file = name.ends_with(".so") ? name : "lib" + name + ".so";
  return {directory + "/" + file, directory + "/fade/" + file, file};
}

/// What handlers had when FADE_HANDLER_ABI became 1. The struct only grows: an older handler has
/// less of it, but never less than this.
constexpr std::size_t kFirstApi =
    offsetof(fade_handler_api, destroy) + sizeof(fade_handler_api::destroy);

using EntryFunction = const fade_handler_api *(*)();

/// The entry point of the library, or why there is none.
Result<EntryFunction> openLibrary(const HandlerChoice &choice, const std::string &directory) {
  void *library = nullptr;
  std::string error;
  for (const std::string &path : candidates(choice.name, directory)) {
    const bool is_path = path.find('/') != std::string::npos;
    std::error_code ignored;
    if (is_path && !std::filesystem::exists(path, ignored)) {
      if (error.empty()) error = "no such file: " + path;
      continue;
    }
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    error = dlerror();
    if (is_path) break;
  }
  if (!library) return Error::of(error);
  auto entry = reinterpret_cast<EntryFunction>(dlsym(library, FADE_HANDLER_ENTRY));
  if (!entry) return Error::of("it is not a handler: it does not export " FADE_HANDLER_ENTRY);
  return entry;
}

} // namespace

std::string apiFault(const fade_handler_api *api) {
  if (!api) return FADE_HANDLER_ENTRY "() returned null";
  if (api->size < offsetof(fade_handler_api, needs) || api->abi != FADE_HANDLER_ABI)
    return fmt::format("it was built for handler ABI {}, but this FADE has {}: rebuild it",
                       api->size < offsetof(fade_handler_api, message_version) ? 0 : api->abi,
                       FADE_HANDLER_ABI);
  if (api->message_version != FADE_MESSAGE_VERSION)
    return fmt::format("it reads records of version {}, but this FADE writes {}: rebuild it",
                       api->message_version, FADE_MESSAGE_VERSION);
  if (api->size < kFirstApi)
    return fmt::format("its interface has {} bytes instead of {}", api->size, kFirstApi);
  if (!api->name || !api->create || !api->shard || !api->records || !api->dispatch_end ||
      !api->shard_free || !api->report || !api->destroy)
    return "required callbacks are null";
  return "";
}

LoadedHandler::LoadedHandler(const fade_handler_api *api, const HandlerChoice &choice,
                             Output &output)
    : api_(knownPartOf(*api)) {
  host_.size = sizeof host_;
  host_.format = static_cast<uint32_t>(output.format());
  host_.context = &output;
  host_.write = writeLines;
  host_.write_file = writeFile;
  host_.warn = warnUser;
  host_.flags = FADE_HOST_SHARES_SITES | (output.hasColor() ? FADE_HOST_COLOR : 0);
  host_.columns = output.terminalColumns();
  std::array<char, 256> error{};
  const std::string problem = contain(
      [&] { instance_ = api_.create(&host_, choice.options.c_str(), error.data(), error.size()); });
  if (!problem.empty())
    error_ = problem + " when it was created";
  else if (!instance_)
    error_ = error[0] ? error.data() : "it could not be created";
}

LoadedHandler::~LoadedHandler() {
  Crash crash;
  destroy(crash);
  if (crash) say(crash);
}

void LoadedHandler::say(const Crash &crash) const noexcept {
  if (crash.is_first)
    warn("handler {}: {} in {}; it is disabled from now on", name(), crashText(crash.signal),
         crash.call);
}

template <typename F> void LoadedHandler::call(const char *what, Crash &crash, F &&f) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return;
  int signal = 0;
  const std::string problem = contain(f, &signal);
  if (signal != 0)
    crash = {what, signal, !failed_.exchange(true)};
  else if (!problem.empty() && !failed_.exchange(true))
    warn("handler {}: {} in {}; it is disabled from now on", name(), problem, what);
}

void *LoadedHandler::shard(const fade_dispatch &dispatch, Crash &crash) noexcept {
  void *made = nullptr;
  call("shard", crash, [&] { made = api_.shard(instance_, &dispatch); });
  return made;
}

void LoadedHandler::records(void *shard, const fade_batch &batch, Crash &crash) noexcept {
  call("records", crash, [&] { api_.records(shard, &batch); });
}

void LoadedHandler::dispatchEnd(const fade_dispatch &dispatch, std::span<void *const> shards,
                                Crash &crash) noexcept {
  call("dispatch_end", crash, [&] {
    api_.dispatch_end(instance_, &dispatch, shards.data(), static_cast<fade_u32>(shards.size()));
  });
}

void LoadedHandler::shardFree(void *shard, Crash &crash) noexcept {
  call("shard_free", crash, [&] { api_.shard_free(shard); });
}

void LoadedHandler::report(Crash &crash) noexcept {
  call("report", crash, [&] { api_.report(instance_); });
}

void LoadedHandler::destroy(Crash &crash) noexcept {
  if (void *instance = std::exchange(instance_, nullptr))
    call("destroy", crash, [&] { api_.destroy(instance); });
}

Handlers loadHandlers(const std::vector<HandlerChoice> &choices, const std::string &directory,
                      Output &output, std::vector<std::string> &complaints) {
  Handlers handlers;
  for (const HandlerChoice &choice : choices) {
    std::string error;
    const fade_handler_api *api = nullptr;
    const std::string problem = contain([&] {
      const auto entry = openLibrary(choice, directory);
      if (entry) api = (*entry)();
      error = entry ? apiFault(api) : entry.error().message();
    });
    if (!problem.empty()) error = problem + " when it was loaded";
    if (error.empty()) {
      auto handler = std::make_unique<LoadedHandler>(api, choice, output);
      if (handler->ok()) {
        handlers.push_back(std::move(handler));
        continue;
      }
      error = handler->error();
    }
    complaints.push_back(fmt::format("handler {}: {}", choice.name, error));
  }
  return handlers;
}

std::string ownDirectory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&ownDirectory), &info) == 0 || !info.dli_fname) return ".";
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? "." : path.parent_path().string();
}

} // namespace fade
