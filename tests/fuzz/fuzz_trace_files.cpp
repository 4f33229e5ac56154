// Traces as they come from elsewhere, RPD files and JSON lines, and what fadeprobe log makes of
// them.
#include "host_views.h"

#include <cstdint>

using namespace fade::host_trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto log = TraceLog::read(fileOf({reinterpret_cast<const char *>(data), size}));
  if (log) makeAllViews(*log);
  return 0;
}
