#include "kfd/svm_ranges.h"

#include <algorithm>

namespace fade::sim::kfd {
namespace {

void apply(SvmRanges::Attributes &to, const kfd_ioctl_svm_attribute &a) {
  using Access = SvmRanges::Access;
  switch (a.type) {
  case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC: to.preferred_location = a.value; break;
  case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC: to.prefetch_location = a.value; break;
  case KFD_IOCTL_SVM_ATTR_ACCESS: to.access[a.value] = Access::access; break;
  case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE: to.access[a.value] = Access::in_place; break;
  case KFD_IOCTL_SVM_ATTR_NO_ACCESS: to.access[a.value] = Access::none; break;
  case KFD_IOCTL_SVM_ATTR_SET_FLAGS: to.flags |= a.value; break;
  case KFD_IOCTL_SVM_ATTR_CLR_FLAGS: to.flags &= ~a.value; break;
  case KFD_IOCTL_SVM_ATTR_GRANULARITY: to.granularity = std::min(a.value, 63u); break;
  }
}

template <class T, class F>
T common(const std::vector<SvmRanges::Attributes> &all, F field, T differing) {
  T value = field(all.front());
  for (auto &a : all)
    if (field(a) != value) return differing;
  return value;
}

} // namespace

bool SvmRanges::known_gpu(uint32_t id) const {
  return std::find(gpu_ids_.begin(), gpu_ids_.end(), id) != gpu_ids_.end();
}

bool SvmRanges::check(const kfd_ioctl_svm_attribute &a) const {
  switch (a.type) {
  case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
  case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
    return a.value == KFD_IOCTL_SVM_LOCATION_SYSMEM ||
           a.value == KFD_IOCTL_SVM_LOCATION_UNDEFINED || known_gpu(a.value);
  case KFD_IOCTL_SVM_ATTR_ACCESS:
  case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
  case KFD_IOCTL_SVM_ATTR_NO_ACCESS: return known_gpu(a.value);
  case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
  case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
  case KFD_IOCTL_SVM_ATTR_GRANULARITY: return true;
  default: return false;
  }
}

void SvmRanges::split(uint64_t at) {
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return;
  auto range = std::prev(after);
  if (range->first == at || range->second.end <= at) return;
  ranges_.emplace_hint(after, at, Range{range->second.end, range->second.attributes});
  range->second.end = at;
}

bool SvmRanges::set(uint64_t start, uint64_t size,
                    std::span<const kfd_ioctl_svm_attribute> attributes) {
  uint64_t end = start + size;
  if (!size || end < start) return false;
  if (!std::all_of(attributes.begin(), attributes.end(), [this](auto &a) { return check(a); }))
    return false;
  split(start);
  split(end);
  for (uint64_t at = start; at < end;) { // fill gaps, so that all of it is covered
    auto it = ranges_.lower_bound(at);
    if (it == ranges_.end() || it->first > at) {
      uint64_t gap_end = it == ranges_.end() ? end : std::min(end, it->first);
      it = ranges_.emplace(at, Range{gap_end, {}}).first;
    }
    for (auto &a : attributes) apply(it->second.attributes, a);
    at = it->second.end;
  }
  return true;
}

std::vector<SvmRanges::Attributes> SvmRanges::covering(uint64_t start, uint64_t end) const {
  std::vector<Attributes> found;
  auto it = ranges_.upper_bound(start);
  if (it != ranges_.begin()) --it;
  uint64_t covered = start;
  for (; it != ranges_.end() && it->first < end; ++it) {
    if (it->second.end <= start) continue;
    if (it->first > covered) found.emplace_back(); // a gap has defaults
    found.push_back(it->second.attributes);
    covered = it->second.end;
  }
  if (covered < end) found.emplace_back();
  return found;
}

bool SvmRanges::get(uint64_t start, uint64_t size,
                    std::span<kfd_ioctl_svm_attribute> attributes) const {
  if (!size || start + size < start) return false;
  auto parts = covering(start, start + size);
  for (auto &a : attributes) {
    switch (a.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
      a.value = common<uint32_t>(
          parts, [](auto &p) { return p.preferred_location; }, KFD_IOCTL_SVM_LOCATION_UNDEFINED);
      break;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      a.value = common<uint32_t>(
          parts, [](auto &p) { return p.prefetch_location; }, KFD_IOCTL_SVM_LOCATION_UNDEFINED);
      break;
    case KFD_IOCTL_SVM_ATTR_ACCESS:
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS: { // the value names the GPU, the answer is the type
      if (!known_gpu(a.value)) return false;
      auto access = common<Access>(
          parts,
          [&](auto &p) {
            auto it = p.access.find(a.value);
            return it == p.access.end() ? Access::none : it->second;
          },
          Access::none);
      a.type = access == Access::access     ? KFD_IOCTL_SVM_ATTR_ACCESS
               : access == Access::in_place ? KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE
                                            : KFD_IOCTL_SVM_ATTR_NO_ACCESS;
      break;
    }
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS: {
      uint32_t all = ~0u;
      for (auto &p : parts) all &= p.flags;
      a.value = all;
      break;
    }
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS: {
      uint32_t any = 0;
      for (auto &p : parts) any |= p.flags;
      a.value = ~any;
      break;
    }
    case KFD_IOCTL_SVM_ATTR_GRANULARITY: {
      uint32_t least = 63;
      for (auto &p : parts) least = std::min(least, p.granularity);
      a.value = least;
      break;
    }
    default: return false;
    }
  }
  return true;
}

std::vector<SvmRanges::Part> SvmRanges::remove(uint64_t start, uint64_t size) {
  uint64_t end = start + size;
  split(start);
  split(end);
  auto first = ranges_.lower_bound(start), last = ranges_.lower_bound(end);
  std::vector<Part> removed;
  for (auto it = first; it != last; ++it)
    removed.push_back({it->first, it->second.end - it->first});
  ranges_.erase(first, last);
  return removed;
}

} // namespace fade::sim::kfd
