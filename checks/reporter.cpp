#include "checks/reporter.h"

#include <algorithm>

namespace fade::checks {

Reporter::Reporter(const ObservedDispatch &dispatch, const CallStacks *stacks)
    : dispatch_(dispatch), stacks_(stacks), kernel_(FindingLog::instance().string(dispatch.kernel)),
      gpu_(FindingLog::instance().string(dispatch.gpu)) {}

Finding Reporter::begin(Check check, Problem problem) const {
  Finding f{};
  f.check = static_cast<uint32_t>(check);
  f.problem = static_cast<uint32_t>(problem);
  f.kernel = kernel_;
  f.gpu = gpu_;
  f.dispatch = dispatch_.number;
  return f;
}

void workItem(const ObservedGroup &group, uint32_t wave, uint32_t lanes, uint32_t lane,
              uint32_t (&item)[3]) {
  const uint32_t flat = wave * lanes + lane;
  const uint32_t x = std::max(1u, group.size[0]), y = std::max(1u, group.size[1]);
  item[0] = flat % x;
  item[1] = flat / x % y;
  item[2] = flat / x / y;
}

void setSite(Place &place, uint64_t site, const CallStacks *stacks) {
  place.pc = addressOf(site);
  if (stacks) stacks->calls(stackOf(site), place.callers);
}

Place Reporter::place(const ObservedWave &wave, unsigned lane, uint64_t site, AccessKind kind,
                      uint32_t size) const {
  Place p{};
  setSite(p, site);
  p.kind = static_cast<uint32_t>(kind);
  std::copy_n(wave.group->id, 3, p.group);
  workItem(*wave.group, wave.number, wave.lanes, lane, p.item);
  p.lane = lane;
  p.size = size;
  return p;
}

Place Reporter::place(const ObservedWave &wave, unsigned lane, const ObservedAccess &access,
                      uint64_t at) const {
  Place p = place(wave, lane, access.pc, access.kind, access.size);
  if (access.data == ObservedAccess::none || at - access.address[lane] >= access.size) return p;
  p.byte = static_cast<uint32_t>(at - access.address[lane]);
  p.data = access.data + 1u;
  return p;
}

void Reporter::report(Finding finding, uint64_t times) {
  reported_.fetch_add(1, std::memory_order_relaxed);
  FindingLog &log = FindingLog::instance();
  log.locate(finding.place);
  if (finding.other.pc) log.locate(finding.other);
  if (finding.between.pc) log.locate(finding.between);
  log.add(finding, times);
}

} // namespace fade::checks
