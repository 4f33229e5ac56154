// race: stores of several waves to the same place that may be of the same value ("found it"), which
// is harmless. An access is told before it is made; with the wave's next step it is known.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <bit>
#include <vector>

namespace fade::checks {

/// One wave's.
class Suspects {
public:
  bool empty() const { return all_.empty(); }
  void clear() { all_.clear(); }

  /// The lanes that race, in an access that has not been made yet. read(address, to, size) reads
  /// memory; false if it cannot, then nothing is added.
  template <class Read>
  bool add(const Finding &finding, const ObservedAccess &access, uint64_t lanes, Read &&read) {
    Suspect s{finding, std::min<uint32_t>(access.size, sizeof(Bytes)), {}};
    for (; lanes; lanes &= lanes - 1) {
      Old old{access.address[std::countr_zero(lanes)], {}};
      if (!read(old.address, old.bytes.data(), s.size)) return false;
      s.before.push_back(old);
    }
    all_.push_back(std::move(s));
    return true;
  }

  /// The stores have been made by now: did they change anything?
  template <class Read> void judge(Read &&read, Reporter &reporter) {
    for (const Suspect &s : all_) {
      uint64_t changed = 0;
      for (const Old &old : s.before) {
        Bytes now{};
        changed += !read(old.address, now.data(), s.size) || now != old.bytes;
      }
      if (changed) reporter.report(s.finding, s.before.size());
    }
    all_.clear();
  }

private:
  using Bytes = std::array<std::byte, 16>;
  struct Old {
    uint64_t address;
    Bytes bytes;
  };
  struct Suspect {
    Finding finding;
    uint32_t size;
    std::vector<Old> before;
  };
  std::vector<Suspect> all_;
};

} // namespace fade::checks
