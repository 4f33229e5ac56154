// Loads in LDS that wait for something: `while (flag == 0) {}`. LDS has no caches to go past, so an
// atomic load looks like any other. But nobody else loads the same place in each turn of a loop in
// which nothing is stored: compilers would do it once.
#pragma once

#include <fade/observer.h>

#include <array>
#include <cstdint>

namespace fade::checks {

/// One per workgroup; remembers what it has looked at.
class PollLoops {
public:
  void begin(const ObservedDispatch &dispatch);
  /// Whether the load at this address is in a short loop that does nothing but wait.
  bool isPoll(uint64_t pc, const ObservedMemory &memory);

private:
  struct Known {
    uint64_t pc = 0;
    bool is_poll = false;
  };
  bool look(uint64_t pc, const ObservedMemory &memory) const;

  uint64_t dispatch_ = ~uint64_t{0};
  bool is_11_up_ = false;
  std::array<Known, 64> known_{};
};

} // namespace fade::checks
