// FADE_GPU_TRACE and messages: single lines to stderr, each written at once so that threads and
// processes do not mix.
#pragma once

#include <cstdint>

namespace fade::sim {

struct TraceOptions {
  bool packets = false;
  bool ioctls = false;
  bool instructions = false;
  bool allocations = false;
};
// Reads "packets,ioctls"; words it does not know are reported once.
TraceOptions parse_trace(const char *text);
const TraceOptions &trace();

// One line to stderr, with "fadegpu: " before it. Keeps errno.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Where a kernel was when it was stopped, for those who explain it: the latest, 0 if none was.
void note_stop(uint64_t pc);
uint64_t last_stop();

// What a dispatch has executed, for a tool in the same process that wants to know.
using ExecutedFunction = void (*)(uint64_t signal, uint64_t waves, uint64_t lanes);
void tell_executed_to(ExecutedFunction f);
void note_executed(uint64_t signal, uint64_t waves, uint64_t lanes);

} // namespace fade::sim
