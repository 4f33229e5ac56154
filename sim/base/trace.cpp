#include "base/trace.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>

namespace fade::sim {

TraceOptions parse_trace(const char *text) {
  TraceOptions options;
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    auto comma = rest.find_first_of(",|");
    std::string_view word = rest.substr(0, comma);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    if (word == "packets")
      options.packets = true;
    else if (word == "ioctls")
      options.ioctls = true;
    else if (word == "instructions")
      options.instructions = true;
    else if (word == "allocations")
      options.allocations = true;
    else if (!word.empty())
      say("FADE_GPU_TRACE: '%.*s' is not known (packets, ioctls, instructions, allocations)",
          static_cast<int>(word.size()), word.data());
  }
  return options;
}

const TraceOptions &trace() {
  static const TraceOptions options = parse_trace(std::getenv("FADE_GPU_TRACE"));
  return options;
}

void say(const char *format, ...) {
  int saved = errno;
  char line[2048] = "fadegpu: ";
  constexpr size_t prefix = 9;
  va_list args;
  va_start(args, format);
  int n = std::vsnprintf(line + prefix, sizeof line - prefix - 1, format, args);
  va_end(args);
  size_t length = prefix + (n < 0 ? 0 : static_cast<size_t>(n));
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  if (write(STDERR_FILENO, line, length) < 0) { /* nobody to tell */
  }
  errno = saved;
}

namespace {
std::atomic<uint64_t> stopped_at{0};
std::atomic<ExecutedFunction> executed{nullptr};
} // namespace
void note_stop(uint64_t pc) { stopped_at.store(pc, std::memory_order_release); }
uint64_t last_stop() { return stopped_at.load(std::memory_order_acquire); }

void tell_executed_to(ExecutedFunction f) { executed.store(f, std::memory_order_release); }
void note_executed(uint64_t signal, uint64_t waves, uint64_t lanes) {
  if (const ExecutedFunction f = executed.load(std::memory_order_acquire)) f(signal, waves, lanes);
}

} // namespace fade::sim
