// What all waves of one dispatch share.
#pragma once

#include "exec/executor.h"
#include "wave/device_services.h"

#include <atomic>
#include <cstdint>

namespace fade::sim {

class Program;

// Instructions of a wave before its siblings get their turn. Waves that have the longest turn run
// without regard for each other.
constexpr uint64_t default_turn = 64, longest_turn = 10'000;

struct DispatchContext {
  Dispatch dispatch;
  DeviceServices *device = nullptr;
  Program *program = nullptr;
  uint64_t turn = default_turn; // of waves that stay in step, see ResidentGroup
  std::atomic<bool> stop{false};
};

} // namespace fade::sim
