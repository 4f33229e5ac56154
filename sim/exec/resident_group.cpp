#include "exec/resident_group.h"

#include "exec/hazard_reporter.h"
#include "exec/program.h"
#include "semantics/hardware_registers.h"
#include "wave/memory_view.h"
#include "wave/split_barrier.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fade::sim {
namespace {

constexpr size_t register_rows = 512;
constexpr uint64_t slice_budget = 50'000; // instructions before another workgroup gets its turn
constexpr uint64_t nobody = ~uint64_t{0}; // has a time

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

// Whether a wave gets on by itself, with time.
bool has_time(const Wave &w) {
  return w.state == WaveState::running || w.state == WaveState::at_lds ||
         w.state == WaveState::sleeping;
}

// The least time among waves, and the least of all others.
struct Hindmost {
  uint64_t time = nobody, second = nobody;

  void add(uint64_t t) {
    if (t < time)
      second = time, time = t;
    else if (t < second)
      second = t;
  }
  uint64_t other_than(uint64_t t) const { return t == time ? second : time; }
};

// s_sleep, in instructions.
uint64_t sleep_time(const Instruction &in) {
  return 64 * std::max<uint64_t>(1, static_cast<uint64_t>(in.imm) & 0x7f);
}

} // namespace

void ResidentGroup::Free::operator()(void *p) const {
  void *block = static_cast<std::byte *>(p) - header;
  munmap(block, static_cast<SizedBlock *>(block)->size);
}

void ResidentGroup::start(const KernelLaunch &launch, DispatchContext &context, const Arch &arch,
                          uint64_t index) {
  context_ = &context;
  slices_ = 0;
  vector_registers_ = launch.vector_registers();
  is_announced_ = false;
  const auto id = launch.group_id(index);
  const auto size = launch.group_size(id);
  const unsigned count = (size[0] * size[1] * size[2] + launch.lanes() - 1) / launch.lanes();
  if (!lds_) lds_.reset(allocate_block(arch.lds_bytes));
  group_.lds = static_cast<std::byte *>(lds_.get());
  group_.lds_bytes = launch.lds_bytes();
  std::memset(group_.lds, 0, group_.lds_bytes);
  group_.at_barrier = group_.ended = 0;
  group_.number = index;
  if (group_.l1) group_.l1->clear();
  group_.info = {
      &context.info, {id[0], id[1], id[2]}, {size[0], size[1], size[2]}, count, nullptr, group_.lds,
      arch.gfx12};
  group_.waves.clear();
  in_step_ = count > 1 && context.turn < longest_turn &&
             (group_.lds_bytes || context.program->has_barrier(launch.entry()));
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
    w.device = context.device;
    w.in_step = in_step_;
    w.scratch = static_cast<std::byte *>(m.scratch.get());
    w.scratch_bytes = launch.scratch_bytes();
    launch.start(w, id, i);
    w.info = {&group_.info, i, w.lanes, w.exec()};
    w.info.vector_registers = w.vgpr, w.info.scalar_registers = w.sgpr;
    m.states.clear();
    group_.waves.push_back(&w);
  }
}

// gfx12: who waits goes on when all waves that are left have signaled. The last signal tells
// observers; only when a wave ends in place of it, that is found out here.
bool ResidentGroup::release_split_barrier(DispatchStats &stats, WorkerObserver *observer) {
  const auto waits = [](const Wave *w) { return w->state == WaveState::at_barrier; };
  if (std::ranges::none_of(group_.waves, waits)) return false;
  if (complete_barrier(group_)) {
    if (observer) observer->barrierPassed(group_.info);
    stats.barriers++;
  }
  bool released = false;
  for (Wave *w : group_.waves) {
    if (!waits(w) || !w->barrier_complete) continue;
    w->barrier_complete = false;
    w->state = WaveState::running;
    w->lds_use = LdsUse::none;
    if (observer) observer->barrierLeft(w->info);
    released = true;
  }
  if (released)
    for (Wave *w : group_.waves) w->time = 0;
  return released;
}

// When all waves that are left have met, they go on.
bool ResidentGroup::release_barrier(DispatchStats &stats, WorkerObserver *observer) {
  if (group_.waves.front()->arch->gfx12) return release_split_barrier(stats, observer);
  unsigned waiting = 0, ended = 0;
  for (const Wave *w : group_.waves) {
    waiting += w->state == WaveState::at_barrier;
    ended += w->state == WaveState::ended;
  }
  if (waiting == 0 || waiting + ended < group_.waves.size()) return false;
  if (observer) observer->barrierPassed(group_.info);
  for (Wave *w : group_.waves)
    if (w->state == WaveState::at_barrier) {
      w->state = WaveState::running;
      w->lds_use = LdsUse::none;
      w->time = 0;
    }
  stats.barriers++;
  return true;
}

// Whether a wave goes on when its time has come. `floor` is the least time of all.
bool ResidentGroup::may_go_on(Wave &w, uint64_t floor) {
  if (w.state == WaveState::at_global_barrier &&
      w.device->global_sync.ended(w.global_barrier_phase)) {
    w.state = WaveState::running;
    w.lds_use = LdsUse::none;
    if (floor != nobody) w.time = std::max(w.time, floor); // it has waited as long as they ran
  }
  return has_time(w);
}

void ResidentGroup::begin_observing(WorkerObserver &observer) {
  is_announced_ = true;
  observer.groupBegins(group_.info);
  for (size_t i = 0; i < group_.waves.size(); i++) {
    Wave *w = group_.waves[i];
    if (context_->observer_wants & kWantsHazards) {
      auto &window = waves_[i]->hazards;
      if (!window) window = std::make_unique<HazardWindow>(looks_behind_calls());
      window->clear();
      w->hazards = window.get();
    }
    w->info.hardware_id = hardware_id(*w);
    observer.waveBegins(w->info);
  }
}

// Workgroups are dealt to the dies in turn.
void ResidentGroup::enter_caches(CachedView &memory) {
  group_.die = static_cast<uint32_t>(group_.number % memory.caches().dies());
  if (!group_.l1) group_.l1 = std::make_unique<VectorCache>();
  memory.enter(group_);
}

uint64_t ResidentGroup::state_of(const Wave &w) const {
  uint64_t hash = w.pc;
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  const auto add_rows = [&](const Row *rows) {
    uint64_t two;
    for (unsigned r = 0; r < vector_registers_; r++)
      for (unsigned lane = 0; lane < 64; lane += 2) std::memcpy(&two, &rows[r][lane], 8), add(two);
  };
  for (const uint32_t value : w.sgpr) add(value);
  add(w.scc), add(w.mode), add(w.gpr_index), add(static_cast<uint64_t>(w.state));
  add_rows(w.vgpr);
  if (w.arch->has_agprs) add_rows(w.vgpr + agpr_base);
  return hash;
}

bool ResidentGroup::stands_still() {
  bool still = true;
  for (size_t i = 0; i < group_.waves.size(); i++) {
    const Wave &w = *group_.waves[i];
    if (w.state == WaveState::ended) continue;
    auto &states = waves_[i]->states;
    const uint64_t state = state_of(w);
    if (std::ranges::find(states, state) != states.end()) continue;
    still = false;
    if (states.size() == most_states) states.erase(states.begin());
    states.push_back(state);
  }
  return still;
}

void ResidentGroup::add_waiting(std::vector<ObservedWaitingWave> &all) const {
  constexpr uint64_t barrier_bytes = 4;
  for (const Wave *w : group_.waves) {
    if (w->state == WaveState::ended) continue;
    ObservedWaitingWave one{&w->info, w->pc, w->exec(), WaveHalt::runs};
    if (w->state == WaveState::sleeping) one.halt = WaveHalt::sleeps;
    if (w->state == WaveState::at_barrier) one.halt = WaveHalt::at_barrier, one.pc -= barrier_bytes;
    if (w->state == WaveState::at_global_barrier)
      one.halt = WaveHalt::at_global_barrier, one.pc -= 2 * barrier_bytes;
    all.push_back(one);
  }
}

ResidentGroup::Outcome ResidentGroup::run(WaveRunner &runner, MemoryView &memory,
                                          DispatchStats &stats, WorkerObserver *observer) {
  if (observer && !is_announced_) begin_observing(*observer);
  memory.set_observer(observer);
  if (CachedView *cached = memory.cached()) [[unlikely]]
    enter_caches(*cached);
  uint64_t turn = in_step_ ? context_->turn : longest_turn, budget = slice_budget;
  Schedule *const schedule = context_->schedule.get();
  const Wave *held = nullptr; // all others first, even where it is behind
  if (schedule) [[unlikely]] {
    if (const uint64_t other = schedule->choose(12)) budget = uint64_t{1} << other;
    if (const uint64_t other = schedule->choose(default_turn)) turn = other;
    turn = std::min(turn, budget);
    if (const uint64_t other = schedule->choose(group_.waves.size() + 1))
      held = group_.waves[other - 1];
  }
  Hindmost before;
  for (Wave *w : group_.waves) {
    w->memory = &memory, w->stats = &stats;
    w->observer = observer, w->observer_wants = observer ? context_->observer_wants : 0;
    if (has_time(*w)) before.add(w->time);
  }
  for (uint64_t used = 0;;) {
    bool busy = false, all_ended = true; // busy: a wave did more than look and go back to sleep
    Hindmost after;
    for (Wave *w : group_.waves) {
      if (!may_go_on(*w, before.time)) {
        all_ended &= w->state == WaveState::ended;
        continue;
      }
      const uint64_t lead = w->state == WaveState::at_lds ? 0 : turn / 2;
      if (w == held ||
          (in_step_ && !held && w->time > before.time && w->time - before.time > lead)) {
        busy |= w != held && w->state != WaveState::sleeping;
        all_ended = false;
        after.add(w->time);
        continue;
      }
      if (context_->halt.load(std::memory_order_relaxed)) return Outcome::halted;
      if (w->state == WaveState::at_lds) w->lds_use = LdsUse::none;
      w->state = WaveState::running;
      // Siblings only get on; the last one of them knows how far the others have come.
      w->siblings_time = w == group_.waves.back() ? after.time : before.other_than(w->time);
      const uint64_t done = runner.run(*w, *context_->program, turn);
      used += done;
      w->time += done;
      if (w->state == WaveState::sleeping) w->time += sleep_time(*runner.current());
      busy |= w->state != WaveState::sleeping && w->state != WaveState::at_global_barrier;
      all_ended &= w->state == WaveState::ended;
      if (has_time(*w)) after.add(w->time);
    }
    if (all_ended) {
      if (observer) observer->groupEnds(group_.info);
      return Outcome::finished;
    }
    before = after;
    if (release_barrier(stats, observer)) busy = true, before = {0, 0};
    if (!busy && held) {
      held = nullptr; // nobody else can go on
      continue;
    }
    if (!busy) return Outcome::waiting;
    if (used >= budget) {
      slices_++;
      return Outcome::used_up;
    }
  }
}

} // namespace fade::sim
