// How many other lines were used between two uses of a line: exact, in O(log n) for each use.
//
// Times at which lines were last used stand in a Fenwick tree as ones; the distance of a use is the
// number of ones behind the line's last use. When times run out, the tree is made anew.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fade::handlers {

class ReuseDistance {
public:
  static constexpr uint64_t kFirst = ~uint64_t{0}; ///< never used before

  uint64_t use(uint64_t line) {
    if (now_ == tree_.size()) makeRoom();
    uint64_t distance = kFirst;
    const auto [at, is_new] = last_.try_emplace(line, now_);
    if (!is_new) {
      distance = last_.size() - sum(at->second + 1);
      add(at->second, -1);
      at->second = now_;
    }
    add(now_++, 1);
    return distance;
  }
  std::size_t lines() const { return last_.size(); }

private:
  void add(std::size_t time, int32_t by) {
    for (std::size_t i = time + 1; i <= tree_.size(); i += i & (~i + 1))
      tree_[i - 1] = static_cast<uint32_t>(static_cast<int32_t>(tree_[i - 1]) + by);
  }
  /// Of the first n times.
  uint64_t sum(std::size_t n) const {
    uint64_t total = 0;
    for (std::size_t i = n; i != 0; i -= i & (~i + 1)) total += tree_[i - 1];
    return total;
  }
  void makeRoom() {
    std::vector<std::pair<std::size_t, uint64_t>> order; // time and line
    order.reserve(last_.size());
    for (const auto &[line, time] : last_) order.emplace_back(time, line);
    std::sort(order.begin(), order.end());
    tree_.assign(std::max<std::size_t>(4096, 2 * std::bit_ceil(order.size())), 0);
    now_ = 0;
    for (const auto &[time, line] : order) {
      last_[line] = now_;
      add(now_++, 1);
    }
  }

  std::unordered_map<uint64_t, std::size_t> last_;
  std::vector<uint32_t> tree_;
  std::size_t now_ = 0;
};

/// Distances by powers of two: bucket b holds those below 2^b that bucket b-1 does not.
struct ReuseHistogram {
  std::array<uint64_t, 40> buckets{};
  uint64_t first = 0;

  void add(uint64_t distance) {
    if (distance == ReuseDistance::kFirst)
      ++first;
    else
      ++buckets[std::min<std::size_t>(std::bit_width(distance), buckets.size() - 1)];
  }
  void add(const ReuseHistogram &other) {
    first += other.first;
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
  }
};

} // namespace fade::handlers
