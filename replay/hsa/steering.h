// Memory of the HSA runtime at wished addresses.
//
// The runtime reserves addresses with mmap before it asks the driver for memory. This program has
// an mmap of its own, which answers such calls with the addresses that a capture needs, and sends
// all other reservations of the runtime out of their way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::replay {

struct Range {
  uint64_t address = 0, size = 0;
};

/// A range that cannot be had, and why, for people: who is there.
struct Conflict {
  Range range;
  std::string who;
};

/// Keeps the ranges free for later. The first that cannot be had, if there is one; then none is
/// kept.
std::optional<Conflict> holdRanges(const std::vector<Range> &ranges);

/// From now on reservations of the runtime are sent elsewhere.
void startSteering(const std::vector<Range> &ranges);

/// As long as it lives, the next reservation of this thread gets the range, which was held before.
class Wish {
public:
  explicit Wish(Range range);
  ~Wish();
  Wish(const Wish &) = delete;
  Wish &operator=(const Wish &) = delete;
};

/// Maps ordinary memory there.
bool mapHere(Range range);

} // namespace fade::replay
