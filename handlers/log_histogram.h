// How numbers of any size spread, in little memory: exact below 16, above that within an eighth.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fade::handlers {

class LogHistogram {
public:
  void add(uint64_t value) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    ++buckets_[bucketOf(value)];
    ++count_;
  }
  void add(const LogHistogram &other) {
    if (other.count_ == 0) return;
    if (buckets_.empty()) buckets_.resize(kBuckets);
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
  }
  uint64_t count() const { return count_; }

  /// A number that so many of a hundred do not exceed, and never more than an eighth too high; 0
  /// if there are none.
  uint64_t percentile(unsigned share) const {
    const uint64_t wanted = (count_ * share + 99) / 100;
    uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= wanted && seen != 0) return highest(i);
    }
    return 0;
  }

private:
  static constexpr unsigned kBits = 3; // of a number's leading digits
  static constexpr std::size_t kExact = 2u << kBits;
  static constexpr std::size_t kBuckets = kExact + (64 - kBits - 1) * (1u << kBits);

  static std::size_t bucketOf(uint64_t value) {
    if (value < kExact) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return kExact + (shift - 1) * (1u << kBits) + ((value >> shift) & ((1u << kBits) - 1));
  }
  static uint64_t highest(std::size_t bucket) {
    if (bucket < kExact) return bucket;
    const std::size_t at = bucket - kExact;
    const auto shift = static_cast<unsigned>(at >> kBits) + 1;
    const uint64_t lead = (1u << kBits) | (at & ((1u << kBits) - 1));
    return (lead << shift) + ((uint64_t{1} << shift) - 1);
  }

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
};

} // namespace fade::handlers
