#include "checks/checker.h"

#include "checks/access_spans.h"
#include "checks/allocations.h"
#include "checks/captured.h"
#include "checks/finding_log.h"
#include "checks/group_check.h"
#include "checks/hang_check.h"
#include "checks/hazard_check.h"
#include "checks/init_check.h"
#include "checks/memory_check.h"
#include "checks/overlap_check.h"
#include "checks/queue_order.h"

#include "codeobj/demangle.h"

#include <bit>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace fade::checks {
namespace {

/// What belongs to workgroups. Used again for the next ones, because they are large; a workgroup
/// may end on another worker than it began on, or never.
class GroupPool {
public:
  GroupCheck *take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return all_.emplace_back(std::make_unique<GroupCheck>()).get();
    GroupCheck *check = free_.back();
    free_.pop_back();
    return check;
  }
  void give(GroupCheck *check) {
    const std::lock_guard lock(mutex_);
    free_.push_back(check);
  }

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<GroupCheck>> all_;
  std::vector<GroupCheck *> free_;
};

/// What all workers of a dispatch share.
struct Job {
  const Options &options;
  const ObservedMemory &memory;
  const ObservedDispatch &dispatch;
  bool reports;                           ///< false: only what it writes is noted
  std::shared_ptr<DispatchRaces> races{}; ///< null: not looked for
  GroupPool groups{};
  LastWrites writes{}; ///< hang: by whom
  CallStacks own_stacks{};
  HostTime launched{};

  /// Those of races outlive the dispatch.
  CallStacks &stacks() { return races ? races->stacks : own_stacks; }
};

class Worker : public WorkerObserver {
public:
  explicit Worker(Job &job)
      : job_(job), reporter_(job.dispatch, &job.stacks()),
        memory_(job.memory, job.dispatch, job.launched), spans_(job.dispatch),
        decoder_(job.memory, job.dispatch.gpu) {}

  void groupBegins(ObservedGroup &group) override {
    if (!job_.reports || !wantsGroup(group)) return;
    GroupCheck *check = job_.groups.take();
    check->begin(group, job_.options, job_.races.get());
    group.state = check;
  }
  void groupEnds(ObservedGroup &group) override {
    if (GroupCheck *check = stateOf(group)) job_.groups.give(check);
    group.state = nullptr;
  }
  void waveEnds(const ObservedWave &wave, uint64_t pc) override {
    if (GroupCheck *check = stateOf(*wave.group))
      check->waveEnds(wave, site(*check, wave, pc), reporter_);
  }
  void barrier(const ObservedWave &wave, uint64_t pc, uint64_t lanes) override {
    if (GroupCheck *check = stateOf(*wave.group))
      check->barrier(wave, site(*check, wave, pc), lanes, reporter_);
  }
  void barrierPassed(ObservedGroup &group) override {
    if (GroupCheck *check = stateOf(group)) check->barrierPassed(group, reporter_);
  }
  void barrierLeft(const ObservedWave &wave) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->barrierLeft(wave);
  }
  void access(const ObservedWave &wave, const ObservedAccess &access) override {
    GroupCheck *check = stateOf(*wave.group);
    if (!check || !check->callsOf(wave).now()) return look(check, wave, access);
    ObservedAccess called = access;
    called.pc = site(*check, wave, access.pc);
    look(check, wave, called);
  }
  void atomicDone(const ObservedWave &wave) override {
    if (!stateOf(*wave.group)) return;
    if (job_.options.has(Check::hang)) job_.writes.atomicDone(job_.memory);
    stateOf(*wave.group)->atomicDone();
  }
  void branch(const ObservedWave &wave, const ObservedBranch &branch) override {
    GroupCheck *check = stateOf(*wave.group);
    if (!check) return;
    check->callsOf(wave).branch(branch, decoder_, job_.stacks());
    if (job_.options.has(Check::hang)) check->pollsOf(wave).branch();
  }
  void wait(const ObservedWave &wave, const ObservedWait &wait) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->wait(wave, wait);
  }
  void fence(const ObservedWave &wave, const ObservedFence &fence) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->fence(wave, fence);
  }
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction) override {
    if (GroupCheck *check = stateOf(*wave.group))
      check->registers(wave, instruction, site(*check, wave, instruction.pc), job_.memory,
                       reporter_);
  }
  void crossing(const ObservedWave &wave, const ObservedCrossing &crossing) override {
    if (GroupCheck *check = stateOf(*wave.group))
      check->crossing(wave, crossing, site(*check, wave, crossing.pc), reporter_);
  }
  void hazard(const ObservedWave &wave, const ObservedHazard &hazard) override {
    if (GroupCheck *check = stateOf(*wave.group))
      reportHazard(wave, hazard, site(*check, wave, hazard.pc), reporter_);
  }
  void globalBarrier(const ObservedWave &wave, uint64_t) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->globalBarrier(wave);
  }

  bool passesFault(uint64_t address, uint64_t, bool) override {
    return job_.options.has(Check::memory) && MemoryCheck::passesFault(address);
  }

private:
  static uint64_t site(GroupCheck &check, const ObservedWave &wave, uint64_t pc) {
    return siteOf(pc, check.callsOf(wave).now());
  }
  /// Its pc is a site.
  void look(GroupCheck *check, const ObservedWave &wave, const ObservedAccess &access) {
    const LaneSpan span(access);
    if (check && job_.options.has(Check::memory)) {
      memory_.access(wave, access, span, reporter_);
      spans_.access(wave, access, span, reporter_);
    }
    switch (access.space) {
    case AccessSpace::lds:
      if (check) check->lds(wave, access, span, reporter_);
      break;
    case AccessSpace::scratch:
      if (check) check->scratch(wave, access, reporter_);
      break;
    case AccessSpace::global:
      if (job_.options.has(Check::init))
        init_.access(wave, access, span, check ? &reporter_ : nullptr,
                     check ? &check->valuesOf(wave) : nullptr);
      if (check) check->global(wave, access, reporter_);
    }
    if (check) check->floats(wave, access, reporter_);
    if (check) check->strays(wave, access, reporter_);
    if (check && job_.options.has(Check::hang)) noteWaits(*check, wave, access);
  }
  /// What waves poll, and who writes flags. Behind the check of races, which lets nobody else in
  /// until an atomic is made.
  void noteWaits(GroupCheck &check, const ObservedWave &wave, const ObservedAccess &access) {
    if (access.space == AccessSpace::scratch) return;
    if (access.kind != AccessKind::store) check.pollsOf(wave).note(access);
    if (access.kind == AccessKind::store) job_.writes.store(wave, access);
    if (access.kind == AccessKind::atomic) job_.writes.atomic(wave, access, job_.memory);
  }
  static GroupCheck *stateOf(const ObservedGroup &group) {
    return static_cast<GroupCheck *>(group.state);
  }
  bool wantsGroup(const ObservedGroup &group) const {
    const WorkgroupFilter &filter = job_.options.settings.workgroups;
    for (std::size_t i = 0; i < 3; ++i)
      if (group.id[i] < filter.first[i] || group.id[i] > filter.last[i]) return false;
    return true;
  }

  Job &job_;
  Reporter reporter_;
  MemoryCheck memory_;
  AccessSpans spans_;
  InitCheck init_;
  CallDecoder decoder_;
};

/// hipStreamWriteValue and hipStreamWaitValue.
bool isOfStreams(std::string_view kernel) { return kernel.starts_with("__amd_rocclr_streamOps"); }

/// A dispatch of theirs: one work-item, which knows what it has polled when all is over.
class StreamValueChecker : public DispatchObserver, WorkerObserver {
public:
  explicit StreamValueChecker(const ObservedDispatch &dispatch)
      : queue_(dispatch.queue_address), index_(dispatch.packet_index),
        kernargs_(dispatch.kernarg_address), kernarg_bytes_(dispatch.kernarg_bytes) {}
  WorkerObserver *worker(uint32_t) override { return this; }
  uint32_t wants() const override { return kWantsAccesses; }
  void access(const ObservedWave &, const ObservedAccess &access) override {
    if (!access.lanes || access.space != AccessSpace::global) return;
    const uint64_t address = access.address[std::countr_zero(access.lanes)];
    if (access.kind != AccessKind::load)
      QueueOrder::instance().writesValue(queue_, index_, address);
    if (address - kernargs_ >= kernarg_bytes_) polled_ = address;
  }
  void end(const ObservedEnd &) override {
    if (polled_) QueueOrder::instance().waitsForValue(queue_, index_, polled_);
  }

private:
  uint64_t queue_, index_, kernargs_, kernarg_bytes_;
  uint64_t polled_ = 0;
};

class DispatchChecker : public DispatchObserver {
public:
  DispatchChecker(const Options &options, const ObservedMemory &memory,
                  const ObservedDispatch &dispatch, bool reports, uint32_t workers)
      : job_{options, memory, dispatch, reports}, workers_(workers) {
    if (!reports || !options.has(Check::race)) return;
    job_.races = std::make_shared<DispatchRaces>(dispatch, memory);
    before_ = QueueOrder::instance().begins(dispatch.queue_address, dispatch.packet_index);
    job_.launched =
        QueueOrder::instance().submittedAt(dispatch.queue_address, dispatch.packet_index);
    command_ = QueueOrder::instance().commandOf(dispatch.queue_address, dispatch.packet_index);
  }
  WorkerObserver *worker(uint32_t n) override {
    if (!workers_[n]) workers_[n] = std::make_unique<Worker>(job_);
    return workers_[n].get();
  }
  /// Which of several races is seen, and how often, depends on the order.
  uint32_t wants() const override { return job_.races ? ~0u : ~uint32_t{kWantsOrder}; }
  HangLimits hangLimits() const override { return hangLimitsFromEnvironment(); }
  bool hung(const ObservedHang &hang) override;
  void end(const ObservedEnd &end) override {
    if (job_.reports) FindingLog::instance().addInexact(end.inexact);
    workers_.clear();
    if (job_.races && !command_ && StreamOrder::instance().hasStreams()) command_ = lateCommand();
    if (job_.races && mayOverlap())
      OverlapCheck::instance().ended({std::move(job_.races), std::move(before_),
                                      job_.dispatch.queue_address, job_.dispatch.packet_index,
                                      std::move(command_)});
  }

private:
  /// A packet processor that is at work takes packets when they are valid, which is before the
  /// host rings the doorbell for them: a thread that is held up there comes later.
  StreamOrder::Ptr lateCommand() const {
    constexpr auto step = std::chrono::milliseconds(1);
    constexpr unsigned most = 1000;
    QueueOrder &order = QueueOrder::instance();
    const uint64_t queue = job_.dispatch.queue_address, index = job_.dispatch.packet_index;
    for (unsigned i = 0; i < most && !order.isSubmitted(queue, index); ++i)
      std::this_thread::sleep_for(step);
    return order.commandOf(queue, index);
  }
  /// A second stream may come at any time.
  bool mayOverlap() const { return command_ || QueueOrder::instance().hasSeveralQueues(); }

  Job job_;
  QueueTimes before_;
  StreamOrder::Ptr command_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

bool DispatchChecker::hung(const ObservedHang &hang) {
  std::vector<WaitingWave> waves;
  for (uint64_t i = 0; i < hang.count; ++i) {
    WaitingWave w{hang.waves[i], hang.waves[i].pc, nullptr};
    const ObservedWave &wave = *w.wave.wave;
    if (auto *check = static_cast<GroupCheck *>(wave.group->state)) {
      w.polls = &check->pollsOf(wave);
      const WavePolls::Poll *poll = w.polls->current();
      const bool waits = w.wave.halt == WaveHalt::at_barrier;
      w.site = poll && !waits ? poll->site : siteOf(w.wave.pc, check->callsOf(wave).now());
    }
    waves.push_back(w);
  }
  if (hang.is_still && mayBeWoken(waves)) return false;
  Reporter reporter(job_.dispatch, &job_.stacks());
  reportHang(waves, job_.writes, job_.memory, summaryOf(hang), reporter);
  endHung();
}

} // namespace

Checker::Checker(const ObservedMemory &memory)
    : memory_(memory), options_(options()), selection_(options_.settings) {}

bool Checker::isChosen(const ObservedDispatch &dispatch) {
  const std::string symbol = dispatch.kernel;
  uint64_t ordinal = 0;
  {
    const std::lock_guard lock(mutex_);
    ordinal = ++dispatches_[symbol];
  }
  return selection_.wantsKernel(codeobj::demangle(symbol)) &&
         selection_.wantsDispatch(symbol, ordinal);
}

std::unique_ptr<DispatchObserver> Checker::begin(const ObservedDispatch &dispatch,
                                                 uint32_t workers) {
  if (!FindingLog::instance().isOpen()) return nullptr; // why has been said
  const bool is_chosen = isChosen(dispatch), is_own = !isOfRuntime(dispatch.kernel);
  const bool reports = is_chosen && is_own;
  if (is_own) FindingLog::instance().countDispatch(is_chosen);
  if (isOfStreams(dispatch.kernel) && options_.has(Check::race))
    return std::make_unique<StreamValueChecker>(dispatch);
  // What the others write must be known, too.
  if (!reports && !options_.has(Check::init)) return nullptr;
  return std::make_unique<DispatchChecker>(options_, memory_, dispatch, reports, workers);
}

void Checker::memoryWritten(uint64_t address, uint64_t size) {
  if (options_.has(Check::init)) InitCheck::noteWritten(address, size);
}

void Checker::packetEnds(const ObservedPacket &packet) {
  if (options_.has(Check::race)) QueueOrder::instance().packetEnds(packet);
}

namespace {

/// Of a rank that is not to be checked: its kernels run at full speed.
class Unobserved : public Observer {
public:
  uint32_t wants() const override { return 0; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &, uint32_t) override {
    return nullptr;
  }
};

} // namespace
} // namespace fade::checks

extern "C" __attribute__((visibility("default"))) fade::Observer *
fade_observer(uint32_t version, const char *, const fade::ObservedMemory *memory) {
  using namespace fade::checks;
  const char *wanted = std::getenv("FADE_CHECK_DIR");
  if (!wanted || !*wanted) return nullptr;
  if (!FindingLog::isForThisRank()) return new Unobserved;
  if (version != FADE_OBSERVER_VERSION) {
    FindingLog::instance().refuse(version);
    return nullptr;
  }
  if (const char *folder = std::getenv("FADE_CHECK_CAPTURE")) addCaptured(folder);
  return new Checker(*memory);
}
