// Random choices that are the same on every machine, and the numbering by which a program is cut
// down.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace fade::sim::differential {

// SplitMix64.
class Dice {
public:
  explicit Dice(uint64_t seed) : state_(seed ^ 0x5eed) { state_ = word() ^ seed << 32; }
  uint64_t word() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>((word() >> 32) * n >> 32); }
  unsigned between(unsigned low, unsigned high) { return low + below(high - low + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T> const T &pick(const std::vector<T> &v) {
    return v[below(static_cast<unsigned>(v.size()))];
  }
  template <class T> T pick(std::initializer_list<T> v) {
    return v.begin()[below(static_cast<unsigned>(v.size()))];
  }

private:
  uint64_t state_;
};

// Every statement and expression of a program has a number. Those in `dropped` are generated like
// all others, so that the dice fall the same way, but left out of the text.
class Nodes {
public:
  explicit Nodes(const std::set<unsigned> &dropped) : dropped_(dropped) {}
  unsigned next() { return count_++; }
  bool dropped(unsigned node) const { return dropped_.count(node) != 0; }
  unsigned count() const { return count_; }

private:
  const std::set<unsigned> &dropped_;
  unsigned count_ = 0;
};

} // namespace fade::sim::differential
