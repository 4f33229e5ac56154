#include "exec/resident_group.h"

#include "exec/program.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fade::sim {
namespace {

constexpr size_t register_rows = 512, lds_capacity = 64 << 10;
constexpr uint64_t wave_budget =
    10'000; // instructions before the next wave of the workgroup gets its turn
constexpr uint64_t slice_budget = 50'000; // ... before another workgroup may

void *allocate(size_t size) { // zeroed, and committed only when touched
  void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return p;
}

struct SizedBlock { // header in front of what is handed out, so that the size is known when it is
                    // given back
  size_t size;
};
constexpr size_t header = 4096;

void *allocate_block(size_t size) {
  void *p = allocate(size + header);
  static_cast<SizedBlock *>(p)->size = size + header;
  return static_cast<std::byte *>(p) + header;
}

} // namespace

void ResidentGroup::Free::operator()(void *p) const {
  void *block = static_cast<std::byte *>(p) - header;
  munmap(block, static_cast<SizedBlock *>(block)->size);
}

void ResidentGroup::start(const KernelLaunch &launch, DispatchContext &context, const Arch &arch,
                          uint64_t dispatch_number, uint64_t index) {
  context_ = &context;
  slices_ = 0;
  const auto id = launch.group_id(index);
  const auto size = launch.group_size(id);
  const unsigned count = (size[0] * size[1] * size[2] + launch.lanes() - 1) / launch.lanes();
  if (!lds_) lds_.reset(allocate_block(lds_capacity));
  group_.lds = static_cast<std::byte *>(lds_.get());
  group_.lds_bytes = launch.lds_bytes();
  std::memset(group_.lds, 0, group_.lds_bytes);
  group_.at_barrier = group_.ended = 0;
  group_.waves.clear();
  for (unsigned i = 0; i < count; i++) {
    if (i == waves_.size()) {
      waves_.push_back(std::make_unique<WaveMemory>());
      waves_.back()->registers.reset(allocate_block(register_rows * sizeof(Row)));
    }
    WaveMemory &m = *waves_[i];
    const size_t scratch = static_cast<size_t>(launch.scratch_bytes()) * launch.lanes();
    if (scratch > m.scratch_size) {
      m.scratch.reset(allocate_block(scratch));
      m.scratch_size = scratch;
    }
    Wave &w = m.wave;
    w.vgpr = static_cast<Row *>(m.registers.get());
    w.lanes = launch.lanes();
    w.arch = &arch;
    w.group = &group_;
    w.context = &context;
    w.scratch = static_cast<std::byte *>(m.scratch.get());
    w.scratch_bytes = launch.scratch_bytes();
    w.info = {dispatch_number,
              context.dispatch.kernel_object,
              {id[0], id[1], id[2]},
              i,
              static_cast<uint8_t>(w.lanes)};
    launch.start(w, id, i);
    group_.waves.push_back(&w);
  }
}

// When all waves that are left have met, they go on.
bool ResidentGroup::release_barrier(DispatchStats &stats) {
  unsigned waiting = 0, ended = 0;
  for (const Wave *w : group_.waves) {
    waiting += w->state == WaveState::at_barrier;
    ended += w->state == WaveState::ended;
  }
  if (waiting == 0 || waiting + ended < group_.waves.size()) return false;
  for (Wave *w : group_.waves)
    if (w->state == WaveState::at_barrier) w->state = WaveState::running;
  stats.barriers++;
  return true;
}

bool ResidentGroup::may_go_on(Wave &w) {
  if (w.state == WaveState::sleeping) w.state = WaveState::running;
  if (w.state == WaveState::at_global_barrier &&
      w.context->global_sync->ended(w.global_barrier_phase))
    w.state = WaveState::running;
  return w.state == WaveState::running;
}

ResidentGroup::Outcome ResidentGroup::run(WaveRunner &runner, MemoryView &memory,
                                          DispatchStats &stats, Observer *observer) {
  for (uint64_t used = 0;;) {
    bool busy = false, all_ended = true; // busy: a wave did more than look and go back to sleep
    for (Wave *w : group_.waves) {
      if (!may_go_on(*w)) {
        all_ended &= w->state == WaveState::ended;
        continue;
      }
      if (context_->stop.load(std::memory_order_relaxed)) return Outcome::finished;
      w->memory = &memory, w->stats = &stats, w->observer = observer;
      used += runner.run(*w, *context_->program, wave_budget);
      busy |= w->state != WaveState::sleeping && w->state != WaveState::at_global_barrier;
      all_ended &= w->state == WaveState::ended;
    }
    if (all_ended) return Outcome::finished;
    if (release_barrier(stats)) busy = true;
    if (!busy) return Outcome::waiting;
    if (used >= slice_budget) {
      slices_++;
      return Outcome::used_up;
    }
  }
}

} // namespace fade::sim
