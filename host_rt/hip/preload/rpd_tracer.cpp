// librpd_tracer.so as RPD has it: preloaded, or loaded by rpdTracerControl.py. Sets up FADE by the
// variables of RPD before the GPU is used. If it is in use already, calls and markers are recorded.
//   RPDT_FILENAME    the file; ./trace.rpd unless it is set
//   RPDT_AUTOSTART   0: nothing is recorded until rpdstart
//   RPDT_AUTOFLUSH   1: every second
//   RPDT_STACKFRAMES 1: with stacks
#include "fade/host_events.h"
#include "hsa_state.h"
#include "own_fade.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

using namespace fade::preload;

/// "" if it is not set.
std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool isOn(const char *name) { return std::atoi(variable(name).c_str()) > 0; }

/// The application may go to another directory before the file is opened.
std::string absolute(const std::string &path) {
  char directory[PATH_MAX];
  if (path.starts_with('/') || !getcwd(directory, sizeof directory)) return path;
  return std::string(directory) + "/" + path;
}

void call(const char *name) noexcept {
  if (auto *function = fadeFunctionOf<void()>(name)) function();
}

__attribute__((constructor)) void setUp() {
  try {
    addToTools();
    const std::string file = variable("RPDT_FILENAME");
    if (!file.empty() || variable("FADE_TRACE").empty())
      setenv("FADE_TRACE", absolute(file.empty() ? "trace.rpd" : file).c_str(), 1);
    if (variable("FADE_TRACE_FORMAT").empty()) setenv("FADE_TRACE_FORMAT", "rpd", 1);
    const std::string start = variable("RPDT_AUTOSTART");
    if (!start.empty()) setenv("FADE_TRACE_START", std::atoi(start.c_str()) != 0 ? "on" : "off", 1);
    if (isOn("RPDT_AUTOFLUSH")) setenv("FADE_TRACE_FLUSH", "1", 1);
    if (isOn("RPDT_STACKFRAMES")) setenv("FADE_TRACE_STACKS", "on", 1);
    setenv("RPDT_LOADED", "1", 1);
    if (fade::isHsaOpen()) call("fade_trace_open"); // nobody else will
  } catch (...) {                                   // no memory: nothing is recorded
  }
}

} // namespace

FADE_EXPORT void rpdstart() {
  // HIP may have been loaded since: calls from the first one on have arguments and a duration.
  if (!fade::isHsaOpen() && isHipLoaded()) call("fade_watch_first_calls");
  call("fade_trace_start");
}
FADE_EXPORT void rpdstop() { call("fade_trace_stop"); }
FADE_EXPORT void rpdflush() { call("fade_trace_flush"); }

namespace {

/// Domain, name and arguments, which stay apart in the file.
void record(uint32_t kind, const char *domain, const char *name, const char *arguments) noexcept {
  constexpr std::size_t most = 1024; // of a domain and a name
  const auto textOf = [](const char *text, std::size_t longest) {
    return text ? std::string(text, strnlen(text, longest)) : std::string();
  };
  try {
    auto *to = fadeFunctionOf<void(uint32_t, const char *, uint64_t)>("fade_record_marker");
    if (!to) return;
    const std::string first = textOf(domain, most), second = textOf(name, most);
    const fade::events::MarkerParts parts{static_cast<uint16_t>(first.size()),
                                          static_cast<uint16_t>(second.size())};
    to(kind, (first + second + (arguments ? arguments : "")).c_str(), parts.packed());
  } catch (...) { // no memory for a text
  }
}

} // namespace

FADE_EXPORT void rpd_rangePush(const char *domain, const char *name, const char *arguments) {
  record(1, domain, name, arguments);
}
FADE_EXPORT void rpd_rangePop() {
  if (auto *to = fadeFunctionOf<void(uint32_t, const char *, uint64_t)>("fade_record_marker"))
    to(2, nullptr, 0);
}
FADE_EXPORT void rpd_mark(const char *domain, const char *name, const char *arguments) {
  record(0, domain, name, arguments);
}
