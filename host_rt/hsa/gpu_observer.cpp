#include "hsa/gpu_observer.h"

#include "fade/encode.h"
#include "fade/ring_writer.h"
#include "fade/sites.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

namespace fade {
namespace {

constexpr uint32_t kSharedBase = 0x10000, kPrivateBase = 0x20000; ///< as the software GPU has them

/// As the GPU's constant counter counts: 100 MHz.
uint64_t gpuTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) /
         10;
}

/// Of a workgroup that runs.
struct GroupState {
  bool is_wanted = false;
  std::vector<uint32_t> waves; ///< the numbers they announced themselves with
};

class Pool {
public:
  GroupState *take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return all_.emplace_back(std::make_unique<GroupState>()).get();
    GroupState *state = free_.back();
    free_.pop_back();
    return state;
  }
  void give(GroupState *state) {
    const std::lock_guard lock(mutex_);
    free_.push_back(state);
  }

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<GroupState>> all_;
  std::vector<GroupState *> free_;
};

struct Job {
  const ObservedDispatch &dispatch;
  ObservedRun run;
  fade_control &control;
  fade_counter *counters; ///< null: nothing is counted
  Pool groups{};

  bool wants(const ObservedGroup &group) const {
    for (int i = 0; i < 3; ++i)
      if (group.id[i] < control.first_workgroup[i] || group.id[i] > control.last_workgroup[i])
        return false;
    return control.sample_workgroups == 0 ||
           (group.id[0] + group.id[1] + group.id[2]) % control.sample_workgroups == 0;
  }
};

class Worker : public WorkerObserver {
public:
  explicit Worker(Job &job) : job_(job), ring_(job.control) {}

  void groupBegins(ObservedGroup &group) override {
    GroupState *state = job_.groups.take();
    state->is_wanted = job_.wants(group);
    state->waves.assign(group.waves, FADE_WAVE_NONE);
    group.state = state;
  }
  void groupEnds(ObservedGroup &group) override {
    if (group.state) job_.groups.give(static_cast<GroupState *>(group.state));
    group.state = nullptr;
  }
  void waveBegins(const ObservedWave &wave) override {
    const ObservedGroup &group = *wave.group;
    auto *state = static_cast<GroupState *>(group.state);
    if (!state->is_wanted) return;
    const uint32_t flat = wave.number * wave.lanes;
    const uint32_t x = std::max(1u, group.size[0]), y = std::max(1u, group.size[1]);
    fade_wave_begin begin{};
    begin.header.encoding = wave.lanes == 32 ? FADE_WAVE_IS_WAVE32 : 0;
    begin.mask = wave.work_items;
    begin.wave = state->waves[wave.number] = ring_.nextWave();
    begin.work_item = flat % x | flat / x % y << 10 | flat / x / y << 20;
    begin.clock = begin.time = gpuTime();
    begin.module = job_.run.kernel->info->sites()->table.moduleId();
    begin.workgroup_x = group.id[0], begin.workgroup_y = group.id[1];
    begin.workgroup_z = group.id[2];
    begin.shared_base = kSharedBase, begin.private_base = kPrivateBase;
    encoder_.clear();
    encoder_.waveBegin(begin);
    ring_.write(encoder_.bytes());
  }
  void waveEnds(const ObservedWave &wave, uint64_t) override {
    const auto *state = static_cast<const GroupState *>(wave.group->state);
    if (!state->is_wanted) return;
    fade_wave_end end{};
    end.mask = wave.work_items;
    end.wave = state->waves[wave.number];
    end.clock = end.time = gpuTime();
    encoder_.clear();
    encoder_.waveEnd(end);
    ring_.write(encoder_.bytes());
  }
  void access(const ObservedWave &wave, const ObservedAccess &access) override {
    const auto *state = static_cast<const GroupState *>(wave.group->state);
    if (!state->is_wanted || access.space == AccessSpace::scratch || isArgument(access)) return;
    const uint32_t site = siteOf(access.pc);
    if (site == FADE_NO_INDEX || !isSampled(site)) return;
    const uint64_t *addresses = access.address;
    uint64_t lanes = access.lanes, own[64];
    if (access.path == AccessPath::scalar) { // for the whole wave
      lanes = wave.work_items;
      std::fill_n(own, 64, access.address[0]);
      addresses = own;
    } else if (access.space == AccessSpace::lds && access.path == AccessPath::flat) {
      for (unsigned i = 0; i < 64; ++i)
        own[i] = uint64_t{kSharedBase} << 32 | static_cast<uint32_t>(access.address[i]);
      addresses = own;
    }
    encoder_.clear();
    encoder_.access(site, state->waves[wave.number], lanes, {addresses, 64});
    ring_.write(encoder_.bytes());
  }

private:
  /// Loads of the kernel's arguments and of its packet are the compiler's.
  bool isArgument(const ObservedAccess &access) const {
    if (access.path != AccessPath::scalar) return false;
    const ObservedDispatch &d = job_.dispatch;
    constexpr uint64_t packet_bytes = 64, least = 256; // there are hidden ones
    return access.address[0] - d.kernarg_address < std::max<uint64_t>(d.kernarg_bytes, least) ||
           access.address[0] - d.packet_address < packet_bytes;
  }
  uint32_t siteOf(uint64_t pc) {
    Cached &cached = sites_[pc / 4 % sites_.size()];
    if (cached.pc != pc) cached = {pc, job_.run.kernel->siteOf(pc)};
    return cached.site;
  }
  bool isSampled(uint32_t site) {
    if (!(job_.control.flags & FADE_CONTROL_SAMPLE_EXECUTIONS) || !job_.counters) return true;
    const uint64_t before =
        __atomic_fetch_add(&job_.counters[site].entries, uint64_t{1}, __ATOMIC_RELAXED);
    return before % std::max(1u, job_.control.sample_executions) == 0;
  }

  struct Cached {
    uint64_t pc = ~uint64_t{0};
    uint32_t site = FADE_NO_INDEX;
  };
  Job &job_;
  RingWriter ring_;
  RecordEncoder encoder_;
  std::array<Cached, 256> sites_{};
};

class Run : public DispatchObserver {
public:
  Run(const ObservedDispatch &dispatch, ObservedRun run, fade_control &control,
      fade_counter *counters, uint32_t workers)
      : job_{dispatch, std::move(run), control, counters}, workers_(workers) {}
  WorkerObserver *worker(uint32_t n) override {
    if (!workers_[n]) workers_[n] = std::make_unique<Worker>(job_);
    return workers_[n].get();
  }

private:
  Job job_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

class GpuObserver : public Observer {
public:
  explicit GpuObserver(const ObservedMemory &memory) : memory_(memory) {}
  uint32_t wants() const override { return kWantsAccesses; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &dispatch,
                                          uint32_t workers) override {
    constexpr uint64_t completion_signal = 56; // in the packet
    uint64_t signal = 0;
    if (!memory_.read(dispatch.packet_address + completion_signal, &signal, sizeof signal))
      return nullptr;
    ObservedRun run = ObservedRuns::instance().take(signal);
    if (!run.kernel) return nullptr;
    auto *control = static_cast<fade_control *>(memory_.host(run.control, sizeof(fade_control)));
    if (!control) return nullptr;
    const uint64_t bytes = sizeof(fade_counter) * run.kernel->info->siteCount();
    auto *counters = control->counters
                         ? static_cast<fade_counter *>(memory_.host(control->counters, bytes))
                         : nullptr;
    return std::make_unique<Run>(dispatch, std::move(run), *control, counters, workers);
  }

private:
  const ObservedMemory &memory_;
};

} // namespace

ObservedRuns &ObservedRuns::instance() {
  static auto *runs = new ObservedRuns; // the GPU lives longer than exit handlers
  return *runs;
}

void ObservedRuns::expect(uint64_t signal, ObservedRun run) {
  const std::lock_guard lock(mutex_);
  runs_[signal] = std::move(run);
}

ObservedRun ObservedRuns::take(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  const auto at = runs_.find(signal);
  if (at == runs_.end()) return {};
  ObservedRun run = std::move(at->second);
  runs_.erase(at);
  return run;
}

Observer *makeGpuObserver(const ObservedMemory &memory) { return new GpuObserver(memory); }

} // namespace fade
