// The handlers of a run: their libraries, and calling them.
#pragma once

#include "base/settings.h"
#include "fade/handler_abi.h"
#include "stream/output.h"

#include <memory>
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
  const fade_handler_api &api() const { return *api_; }
  const char *name() const { return api_->name; }
  void *instance() const { return instance_; }

private:
  const fade_handler_api *api_;
  fade_host host_{};
  void *instance_ = nullptr;
  std::string error_;
};

using Handlers = std::vector<std::unique_ptr<LoadedHandler>>;

/// What is wrong with an API that a library returned, or nothing.
std::string apiFault(const fade_handler_api *api);

/// Loads what was chosen, from `directory` unless it is a path. One that cannot be used is named,
/// with the reason, in `complaints`.
Handlers loadHandlers(const std::vector<HandlerChoice> &choices, const std::string &directory,
                      Output &output, std::vector<std::string> &complaints);

/// The directory of the library that this code is in.
std::string ownDirectory();

} // namespace fade
