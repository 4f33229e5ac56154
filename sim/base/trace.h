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

} // namespace fade::sim
