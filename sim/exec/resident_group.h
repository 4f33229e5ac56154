// A workgroup on a worker: its registers, LDS and private memory. Kept and used again for the next
// workgroup.
//
// On a card the waves of a workgroup run nearly in step, and programs come to rely on it, knowingly
// or not. So waves that may meet, because there is LDS or a barrier, stay close to each other here
// too. Their time is the number of instructions since the last barrier:
//   - A wave runs for a turn, and gets another one only when no sibling is further behind than half
//     a turn.
//   - A wave that has read LDS does not write it, and one that has written it does not read it,
//     before all siblings have come as far as itself or wait at a barrier. What a sibling read
//     early it has then read, however soon the program overwrites it.
//   - A wave that sleeps gets on in time as on a card.
// Other waves run for as long as a time slice allows.
#pragma once

#include "exec/dispatch_context.h"
#include "exec/kernel_launch.h"
#include "exec/wave_runner.h"
#include "wave/workgroup.h"

#include "isa/hazards.h"

#include <memory>
#include <vector>

namespace fade::sim {

class CachedView;

class ResidentGroup {
public:
  // Prepares workgroup `index` of a dispatch.
  void start(const KernelLaunch &launch, DispatchContext &context, const Arch &arch,
             uint64_t index);

  enum class Outcome : uint8_t { finished, used_up, waiting, halted };
  // Runs for a while: until all waves have ended, the time slice is used up, every wave waits for
  // something outside, or the dispatch is halted.
  Outcome run(WaveRunner &runner, MemoryView &memory, DispatchStats &stats,
              WorkerObserver *observer);

  // Whether every wave is in a state (registers and place) in which it was before, when this was
  // asked earlier. Some such states later it runs in circles until somebody changes memory.
  bool stands_still();
  // Its waves that have not ended.
  void add_waiting(std::vector<ObservedWaitingWave> &all) const;

  // How often its time slice was used up.
  uint64_t slices() const { return slices_; }

private:
  struct Free {
    void operator()(void *p) const;
  };
  struct WaveMemory {
    Wave wave;
    std::unique_ptr<void, Free> registers;
    std::unique_ptr<void, Free> scratch;
    size_t scratch_size = 0;
    std::unique_ptr<HazardWindow> hazards; // if an observer has asked
    std::vector<uint64_t> states;          // hashes of those that it was in, the last ones
  };
  bool release_split_barrier(DispatchStats &stats, WorkerObserver *observer);
  bool release_barrier(DispatchStats &stats, WorkerObserver *observer);
  void begin_observing(WorkerObserver &observer);
  void enter_caches(CachedView &memory);
  static bool may_go_on(Wave &w, uint64_t floor);
  uint64_t state_of(const Wave &w) const;

  Workgroup group_;
  DispatchContext *context_ = nullptr;
  static constexpr size_t most_states = 256; // more than a loop that polls has places
  uint64_t slices_ = 0;
  unsigned vector_registers_ = 0;
  bool in_step_ = false;
  bool is_announced_ = false; // to the observer
  std::vector<std::unique_ptr<WaveMemory>> waves_;
  std::unique_ptr<void, Free> lds_;
};

} // namespace fade::sim
