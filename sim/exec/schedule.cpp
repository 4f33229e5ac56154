#include "exec/schedule.h"

#include <cstdlib>

namespace fade::sim {

std::unique_ptr<Schedule> Schedule::from_environment() {
  const char *text = std::getenv("FADE_GPU_SCHEDULE");
  if (!text || !*text) return nullptr;
  char *end;
  const uint64_t seed = std::strtoull(text, &end, 10);
  const uint64_t most = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : ~uint64_t{0};
  return std::make_unique<Schedule>(seed, most);
}

// splitmix64
uint64_t Schedule::draw() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint64_t Schedule::choose(uint64_t count) {
  constexpr uint64_t seldom = 4;
  if (count < 2 || switches_ >= most_) return 0;
  if (draw() % seldom) return 0;
  switches_++;
  return 1 + draw() % (count - 1);
}

} // namespace fade::sim
