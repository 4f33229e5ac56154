// What all waves of one dispatch share.
#pragma once

#include "exec/executor.h"
#include "exec/schedule.h"
#include "wave/device_services.h"

#include <fade/observer.h>

#include <atomic>
#include <cstdint>
#include <memory>

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
  // For observers. `info` also holds what messages need when nobody observes.
  ObservedDispatch info;
  std::unique_ptr<DispatchObserver> observer; // null for most
  uint32_t observer_wants = 0;
  std::unique_ptr<Schedule> schedule; // null: the usual order
  bool watches_hangs = false;         // some observer wants to know of them
  // Paused: waves go on later. Stopped: they do not.
  enum Halt : uint8_t { no_halt, paused, stopped };
  std::atomic<uint8_t> halt{no_halt};
};

} // namespace fade::sim
