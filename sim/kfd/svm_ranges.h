// Shared virtual memory: ranges of host addresses with attributes, among them which GPUs may touch
// them.
#pragma once

#include "kfd/kfd_abi.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace fade::sim::kfd {

class SvmRanges {
public:
  enum class Access : uint8_t { none, access, in_place };
  struct Attributes {
    uint32_t preferred_location = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    uint32_t prefetch_location = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    uint32_t granularity = 9;
    uint32_t flags = 0;
    std::map<uint32_t, Access> access; // by gpu_id
    bool operator==(const Attributes &) const = default;
  };

  explicit SvmRanges(std::vector<uint32_t> gpu_ids) : gpu_ids_(std::move(gpu_ids)) {}

  // False, with nothing changed, when an attribute makes no sense.
  bool set(uint64_t start, uint64_t size, std::span<const kfd_ioctl_svm_attribute> attributes);
  // Fills in values; where parts of the range differ, the answer says "undefined" or "no access".
  bool get(uint64_t start, uint64_t size, std::span<kfd_ioctl_svm_attribute> attributes) const;
  struct Part {
    uint64_t start, size;
    bool operator==(const Part &) const = default;
  };
  // Forgets what was known about the range; the parts of which anything was.
  std::vector<Part> remove(uint64_t start, uint64_t size);

private:
  struct Range {
    uint64_t end;
    Attributes attributes;
  };
  bool known_gpu(uint32_t id) const;
  bool check(const kfd_ioctl_svm_attribute &attribute) const;
  // Makes `at` a border between ranges.
  void split(uint64_t at);
  std::vector<Attributes> covering(uint64_t start, uint64_t end) const;

  std::vector<uint32_t> gpu_ids_;
  std::map<uint64_t, Range> ranges_; // by start, disjoint
};

} // namespace fade::sim::kfd
