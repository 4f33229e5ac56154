// Another order of workgroups and waves than the usual one, from a seed.
//
// A card promises no order among workgroups, nor among the waves of one, but for barriers. With
// FADE_GPU_SCHEDULE=SEED one worker runs a dispatch, and at every place where it could go on with
// somebody else it draws whether it does: which workgroup begins next, which of those that have
// begun goes on, for how long, and which waves of a workgroup are held up. The same seed gives the
// same order. SEED:N takes the first N of those switches only and goes on in the usual order, so
// that an order that changes a result can be shrunk to the fewest switches.
#pragma once

#include <cstdint>
#include <memory>

namespace fade::sim {

class Schedule {
public:
  // As the environment says; null: the usual order.
  static std::unique_ptr<Schedule> from_environment();

  Schedule(uint64_t seed, uint64_t most) : state_(seed * 2 + 1), most_(most) {}

  // A number below `count`. 0, the usual choice, most of the time, and always after the last
  // switch.
  uint64_t choose(uint64_t count);
  uint64_t switches() const { return switches_; }

private:
  uint64_t draw();

  uint64_t state_;
  const uint64_t most_;
  uint64_t switches_ = 0;
};

} // namespace fade::sim
