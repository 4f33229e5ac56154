// Loads in LDS that wait for something: `while (flag == 0) {}`. LDS has no caches to go past, so an
// atomic load looks like any other. But nobody else loads the same place in each turn of a loop in
// which nothing is stored: compilers would do it once. Without optimization accesses are flat, and
// all but those of workgroup scope on gfx9 say that they are atomic; of these the loop is looked at
// in another way.
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
  /// The address of the branch that ends the loop in which this load waits; 0: there is none.
  uint64_t endOfLoop(uint64_t pc, const ObservedMemory &memory) const;
  /// Compilers turn `while (flag == 0) sleep()` around: they load before the loop and at its end.
  /// The former is this load if a branch leads from it past the loop, and the loop's is the same.
  bool isBeforeLoop(uint64_t pc, const ObservedMemory &memory) const;

  uint64_t dispatch_ = ~uint64_t{0};
  bool is_9_ = false, is_11_up_ = false;
  std::array<Known, 64> known_{};
};

} // namespace fade::checks
