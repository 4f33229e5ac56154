#include "hsa/gpu_observer.h"

#include "fade/encode.h"
#include "fade/ring_writer.h"
#include "fade/sites.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
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

/// Of a wave that runs.
struct WaveState {
  uint32_t id = FADE_WAVE_NONE;      ///< that it announced itself with
  uint32_t last_run = FADE_NO_INDEX; ///< number of the instructions that it executed last
  uint64_t last_end = 0, lanes = 0;  ///< where they end, and who was active
};

/// Of a workgroup that runs.
struct GroupState {
  bool is_wanted = false;
  std::vector<WaveState> waves;
};

/// How often instructions that follow one another were executed.
struct RunCount {
  uint64_t pc = 0, end = 0;
  uint64_t entries = 0, lanes = 0;
  uint64_t taken = 0;  ///< the wave went on elsewhere than behind them
  uint64_t splits = 0; ///< with a part of its lanes
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
  ExpectedDispatch run;
  fade_control &control;
  fade_counter *counters;                        ///< null: nothing is counted
  std::vector<std::atomic<uint64_t>> executions; ///< by site, where they are sampled
  std::atomic<bool> has_wave = false;
  Pool groups{};

  /// Who only counts is told of one wave, for its size: each has two records.
  bool wantsWave() {
    const bool has_records = run.wants_accesses || run.wants_waves ||
                             (run.kernel->info->modes() & FADE_MODE_BLOCKS) != 0;
    return has_records || !has_wave.exchange(true, std::memory_order_relaxed);
  }
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
    state->waves.assign(group.waves, {});
    group.state = state;
  }
  void groupEnds(ObservedGroup &group) override {
    if (group.state) job_.groups.give(static_cast<GroupState *>(group.state));
    group.state = nullptr;
  }
  void waveBegins(const ObservedWave &wave) override {
    const ObservedGroup &group = *wave.group;
    auto *state = static_cast<GroupState *>(group.state);
    if (!state->is_wanted || !job_.wantsWave()) return;
    const uint32_t flat = wave.number * wave.lanes;
    const uint32_t x = std::max(1u, group.size[0]), y = std::max(1u, group.size[1]);
    fade_wave_begin begin{};
    begin.header.encoding = wave.lanes == 32 ? FADE_WAVE_IS_WAVE32 : 0;
    begin.mask = wave.work_items;
    begin.wave = state->waves[wave.number].id = ring_.nextWave();
    begin.work_item = flat % x | flat / x % y << 10 | flat / x / y << 20;
    begin.hardware_id = wave.hardware_id;
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
    if (!state->is_wanted || state->waves[wave.number].id == FADE_WAVE_NONE) return;
    fade_wave_end end{};
    end.mask = wave.work_items;
    end.wave = state->waves[wave.number].id;
    end.clock = end.time = gpuTime();
    encoder_.clear();
    encoder_.waveEnd(end);
    ring_.write(encoder_.bytes());
  }
  void access(const ObservedWave &wave, const ObservedAccess &access) override {
    const auto *state = static_cast<const GroupState *>(wave.group->state);
    if (!state->is_wanted || access.space == AccessSpace::scratch || isArgument(access)) return;
    if (access.dword != 0) return; // of an instruction that was recorded with its first
    const bool is_lds_side = access.space == AccessSpace::lds && access.path != AccessPath::lds &&
                             access.path != AccessPath::flat;
    const uint32_t site = siteOf(access.pc + (is_lds_side ? kLdsSide : 0));
    if (site == FADE_NO_INDEX || !isSampled(site)) return;
    const uint64_t *addresses = access.address;
    uint64_t lanes = access.lanes, own[64];
    if (access.path == AccessPath::scalar) { // for all that are active
      lanes = access.active;
      if (lanes == 0) return;
      std::fill_n(own, 64, access.address[0]);
      addresses = own;
    } else if (access.space == AccessSpace::lds && access.path == AccessPath::flat) {
      for (unsigned i = 0; i < 64; ++i)
        own[i] = uint64_t{kSharedBase} << 32 | static_cast<uint32_t>(access.address[i]);
      addresses = own;
    }
    encoder_.clear();
    encoder_.access(site, state->waves[wave.number].id, lanes, {addresses, 64});
    ring_.write(encoder_.bytes());
  }

  void block(const ObservedWave &wave, uint64_t pc, uint64_t lanes) override {
    const auto *state = static_cast<const GroupState *>(wave.group->state);
    if (!state->is_wanted || lanes == 0) return;
    const uint32_t site = job_.run.kernel->blockAt(pc);
    if (site == FADE_NO_INDEX || !isSampled(site)) return;
    encoder_.clear();
    encoder_.block(site, state->waves[wave.number].id, lanes, gpuTime());
    ring_.write(encoder_.bytes());
  }
  void run(const ObservedWave &wave, const ObservedRun &run, uint64_t lanes) override {
    auto *state = static_cast<GroupState *>(wave.group->state);
    if (!state->is_wanted) return;
    if (run.number >= runs_.size()) runs_.resize(run.number + 64);
    RunCount &count = runs_[run.number];
    count.pc = run.pc, count.end = run.end;
    ++count.entries;
    count.lanes += static_cast<uint64_t>(std::popcount(lanes));
    WaveState &before = state->waves[wave.number];
    if (before.last_run < runs_.size()) { // else by another worker, whose count it is not
      RunCount &last = runs_[before.last_run];
      last.taken += run.pc != before.last_end;
      last.splits += lanes != before.lanes && lanes != 0 && (lanes & ~before.lanes) == 0;
    }
    before.last_run = run.number, before.last_end = run.end, before.lanes = lanes;
  }
  const std::vector<RunCount> &runs() const { return runs_; }

private:
  /// Loads of the kernel's arguments and of its packet are the compiler's.
  bool isArgument(const ObservedAccess &access) const {
    if (access.kind != AccessKind::load || access.space == AccessSpace::lds || !access.lanes)
      return false;
    // Vector loads, too: of 16 bits (a hidden argument may be the size of a workgroup), and of
    // arrays that are passed by value.
    const uint64_t address = access.address[std::countr_zero(access.lanes)];
    const ObservedDispatch &d = job_.dispatch;
    constexpr uint64_t packet_bytes = 64, least = 256; // there are hidden ones
    return address - d.kernarg_address < std::max<uint64_t>(d.kernarg_bytes, least) ||
           address - d.packet_address < packet_bytes;
  }
  uint32_t siteOf(uint64_t pc) {
    Cached &cached = sites_[pc / 4 % sites_.size()];
    if (cached.pc != pc) cached = {pc, job_.run.kernel->siteOf(pc)};
    return cached.site;
  }
  bool isSampled(uint32_t site) {
    if (job_.executions.empty()) return true;
    const uint64_t before = job_.executions[site].fetch_add(1, std::memory_order_relaxed);
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
  std::vector<RunCount> runs_; ///< by number
};

class Watch : public DispatchObserver {
public:
  Watch(const ObservedDispatch &dispatch, ExpectedDispatch run, fade_control &control,
        fade_counter *counters, uint32_t workers)
      : job_{dispatch, std::move(run), control, counters, {}}, workers_(workers) {
    if (control.flags & FADE_CONTROL_SAMPLE_EXECUTIONS)
      job_.executions = std::vector<std::atomic<uint64_t>>(job_.run.kernel->info->siteCount());
  }
  WorkerObserver *worker(uint32_t n) override {
    if (!workers_[n]) workers_[n] = std::make_unique<Worker>(job_);
    return workers_[n].get();
  }
  uint32_t wants() const override {
    return (job_.run.wants_accesses ? kWantsAccesses : 0) |
           (modes() & FADE_MODE_BLOCKS ? kWantsBlocks : 0) |
           (job_.counters && countsInstructions() ? kWantsRuns : 0);
  }
  void end(const ObservedEnd &) override {
    if (!job_.counters) return;
    if (!countsInstructions()) {
      for (std::size_t i = 0; i < job_.executions.size(); ++i)
        job_.counters[i].entries += job_.executions[i].load(std::memory_order_relaxed);
      return;
    }
    for (const auto &worker : workers_)
      if (worker)
        for (const RunCount &run : worker->runs()) fold(run);
  }

private:
  uint32_t modes() const { return job_.run.kernel->info->modes(); }
  bool countsInstructions() const { return (modes() & FADE_MODE_INSTRUCTIONS) != 0; }
  void fold(const RunCount &run) {
    const auto instructions = job_.run.kernel->instructions(run.pc, run.end);
    if (instructions.empty()) return;
    for (const fade_site_instruction &one : instructions) {
      job_.counters[one.site].entries += run.entries;
      job_.counters[one.site].more_lanes += run.lanes - run.entries; // may wrap: without lanes
    }
    const fade_site_instruction &last = instructions.back();
    if (last.taken != FADE_NO_INDEX) job_.counters[last.taken].entries += run.taken;
    if (last.split != FADE_NO_INDEX) job_.counters[last.split].entries += run.splits;
  }

  Job job_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

class GpuObserver : public Observer {
public:
  explicit GpuObserver(const ObservedMemory &memory) : memory_(memory) {}
  uint32_t wants() const override { return kWantsAccesses | kWantsBlocks | kWantsRuns; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &dispatch,
                                          uint32_t workers) override {
    constexpr uint64_t completion_signal = 56; // in the packet
    uint64_t signal = 0;
    if (!memory_.read(dispatch.packet_address + completion_signal, &signal, sizeof signal))
      return nullptr;
    ExpectedDispatch run = ExpectedDispatches::instance().take(signal);
    if (!run.kernel) return nullptr;
    auto *control = static_cast<fade_control *>(memory_.host(run.control, sizeof(fade_control)));
    if (!control) return nullptr;
    const uint64_t bytes = sizeof(fade_counter) * run.kernel->info->siteCount();
    auto *counters = control->counters
                         ? static_cast<fade_counter *>(memory_.host(control->counters, bytes))
                         : nullptr;
    return std::make_unique<Watch>(dispatch, std::move(run), *control, counters, workers);
  }

private:
  const ObservedMemory &memory_;
};

} // namespace

ExpectedDispatches &ExpectedDispatches::instance() {
  static auto *runs = new ExpectedDispatches; // the GPU lives longer than exit handlers
  return *runs;
}

void ExpectedDispatches::expect(uint64_t signal, ExpectedDispatch run) {
  const std::lock_guard lock(mutex_);
  runs_[signal] = std::move(run);
}

ExpectedDispatch ExpectedDispatches::take(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  const auto at = runs_.find(signal);
  if (at == runs_.end()) return {};
  ExpectedDispatch run = std::move(at->second);
  runs_.erase(at);
  return run;
}

Observer *makeGpuObserver(const ObservedMemory &memory) { return new GpuObserver(memory); }

} // namespace fade
