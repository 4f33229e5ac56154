// A folder of rocm-perf-lab's: both JSON files, split at a zero byte. Files of memory are there for
// whatever allocations they name, as long as those are small.
#include "capture/perf_lab.h"
#include "files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using namespace fade::capture;
using namespace fade::fuzz;

/// What a reader that trusts the file would look for.
void putMemory(std::string_view json) {
  std::filesystem::remove_all(folder() + "/memory");
  std::filesystem::create_directory(folder() + "/memory");
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("regions") || !parsed["regions"].is_array()) return;
  for (const auto &each : parsed["regions"]) {
    if (!each.is_object() || !each.contains("base") || !each.contains("size") ||
        !each["base"].is_number_unsigned() || !each["size"].is_number_unsigned() ||
        each["size"].get<uint64_t>() > 65536)
      continue;
    put(fmt::format("memory/region_{:x}.bin", each["base"].get<uint64_t>()),
        std::string(each["size"].get<uint64_t>(), 'x'));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::string_view regions(reinterpret_cast<const char *>(data), size);
  put("dispatch.json", next(regions));
  put("memory_regions.json", regions);
  put("kernel.hsaco", "code");
  put("kernarg.bin", "12345678");
  putMemory(regions);
  const auto capture = PerfLabCapture::open(folder());
  if (!capture) {
    if (capture.error().message().find('\n') != std::string::npos) abort();
    return 0;
  }
  uint64_t end = 0, bytes = 0;
  for (std::size_t i = 0; i < capture->regions().size(); ++i) {
    const Region &region = capture->regions()[i];
    if (region.address < end || region.address % kPageSize != 0 || region.size % kPageSize != 0)
      abort();
    end = region.end();
    uint64_t read = 0;
    if (capture
            ->read(i,
                   [&](std::span<const uint8_t> pages) {
                     read += pages.size();
                     return true;
                   })
            .ok() &&
        read != region.size)
      abort();
    bytes += read;
  }
  return bytes == 1 ? 1 : 0;
}
