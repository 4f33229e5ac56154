#include "checks/captured.h"

#include "checks/allocations.h"
#include "checks/finding_log.h"

#include "capture/reader.h"

namespace fade::checks {

void addCaptured(const std::string &folder) {
  const auto reader = capture::Reader::open(folder);
  if (!reader) return;
  for (const capture::Region &region : (*reader)->description().regions) {
    if (region.kind == capture::RegionKind::code) continue;
    Allocation allocation;
    allocation.base = region.address;
    allocation.size = region.used;
    allocation.end_of_block = region.end();
    allocation.on_host = region.on_host;
    allocation.counts_as_written = true; // what was written before is not known
    allocation.api =
        FindingLog::instance().string(capture::kRegionKinds[static_cast<std::size_t>(region.kind)]);
    AllocationMap::instance().add(allocation);
  }
  for (const capture::Code &code : (*reader)->code())
    for (const capture::Region &region : (*reader)->description().regions)
      if (region.kind == capture::RegionKind::code && region.contains(code.base, 1))
        FindingLog::instance().addCode(code.bytes.data(), code.bytes.size(),
                                       {region.address, region.size, code.base});
}

} // namespace fade::checks
