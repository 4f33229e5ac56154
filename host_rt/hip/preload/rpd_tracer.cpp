// librpd_tracer.so as RPD has it: preloaded, or loaded by rpdTracerControl.py. Sets up FADE by the
// variables of RPD before the GPU is used. If it is in use already, calls and markers are recorded.
//   RPDT_FILENAME    the file; ./trace.rpd unless it is set
//   RPDT_AUTOSTART   0: nothing is recorded until rpdstart
//   RPDT_AUTOFLUSH   1: every second
//   RPDT_STACKFRAMES 1: with stacks
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

FADE_EXPORT void rpdstart() { call("fade_trace_start"); }
FADE_EXPORT void rpdstop() { call("fade_trace_stop"); }
FADE_EXPORT void rpdflush() { call("fade_trace_flush"); }

/// `domain` is RPD's own business; a name and its arguments are one text here.
FADE_EXPORT void rpd_rangePush(const char *, const char *name, const char *arguments) {
  try {
    std::string text = name ? name : "";
    if (arguments && *arguments != '\0')
      text += (text.empty() ? "" : ", ") + std::string(arguments);
    if (auto *record = fadeFunctionOf<void(uint32_t, const char *, uint64_t)>("fade_record_marker"))
      record(1, text.c_str(), 0);
  } catch (...) { // no memory for a text
  }
}
FADE_EXPORT void rpd_rangePop() {
  if (auto *record = fadeFunctionOf<void(uint32_t, const char *, uint64_t)>("fade_record_marker"))
    record(2, nullptr, 0);
}
FADE_EXPORT void rpd_mark(const char *, const char *name, const char *) {
  if (auto *record = fadeFunctionOf<void(uint32_t, const char *, uint64_t)>("fade_record_marker"))
    record(0, name, 0);
}
