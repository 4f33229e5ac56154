#include "checks/copied_values.h"

#include "checks/finding_log.h"
#include "checks/written_memory.h"

#include <algorithm>
#include <iterator>

namespace fade::checks {

CopiedValues &CopiedValues::instance() {
  static auto *values = new CopiedValues; // outlives every exit handler
  return *values;
}

bool CopiedValues::add(const Finding &finding, uint64_t address, uint64_t size, uint64_t times) {
  constexpr std::size_t most_causes = 1024;
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] =
      by_places_.try_emplace({finding.place.pc, finding.other.pc, finding.kernel}, causes_.size());
  if (is_new) {
    if (causes_.size() == most_causes) {
      by_places_.erase(at);
      return false;
    }
    Cause cause{finding};
    FindingLog::instance().locate(cause.finding.place);
    FindingLog::instance().locate(cause.finding.other);
    causes_.push_back(cause);
  }
  Cause &cause = causes_[at->second];
  if (cause.finding.dispatch == finding.dispatch && finding.address < cause.finding.address) {
    cause.finding = finding;
    FindingLog::instance().locate(cause.finding.place);
    FindingLog::instance().locate(cause.finding.other);
  }
  cause.times += times;
  any_ = true;
  return keep(address, address + size, at->second);
}

/// Copies of one cause that lie side by side are one.
bool CopiedValues::keep(uint64_t begin, uint64_t end, std::size_t cause) {
  constexpr std::size_t most = 1 << 16;
  auto next = copies_.upper_bound(begin);
  if (next != copies_.begin()) {
    const auto before = std::prev(next);
    if (before->second.cause == cause && before->second.end >= begin) {
      begin = before->first, end = std::max(end, before->second.end);
      copies_.erase(before);
    }
  }
  while (next != copies_.end() && next->first <= end && next->second.cause == cause) {
    end = std::max(end, next->second.end);
    next = copies_.erase(next);
  }
  if (copies_.size() >= most) return false;
  copies_[begin] = {end, cause};
  return true;
}

std::optional<Place> CopiedValues::copierOf(uint64_t address) const {
  if (!any_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto next = copies_.upper_bound(address);
  if (next == copies_.begin()) return std::nullopt;
  const Copy &copy = std::prev(next)->second;
  return address < copy.end ? std::optional(causes_[copy.cause].finding.other) : std::nullopt;
}

/// Reports what was copied there, unless it was overwritten since.
void CopiedValues::look(uint64_t address, uint64_t size) {
  auto at = copies_.upper_bound(address);
  if (at != copies_.begin()) --at;
  for (; at != copies_.end() && at->first < address + size; ++at) {
    Cause &cause = causes_[at->second.cause];
    const uint64_t from = std::max(at->first, address);
    const uint64_t to = std::min(at->second.end, address + size);
    if (from >= to || cause.is_reported || WrittenMemory::instance().isWritten(from, to - from))
      continue;
    cause.is_reported = true;
    FindingLog::instance().add(cause.finding, cause.times);
  }
}

void CopiedValues::hostReads(uint64_t address, uint64_t size) {
  const std::lock_guard lock(mutex_);
  reads_[next_read_++ % reads_.size()] = {address, size};
  look(address, size);
}

void CopiedValues::hostGoesOn() {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  for (auto &[address, size] : reads_) {
    look(address, size);
    size = 0;
  }
}

void CopiedValues::forget(uint64_t address, uint64_t size) {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(
      copies_, [&](const auto &one) { return one.first >= address && one.first < address + size; });
}

} // namespace fade::checks
