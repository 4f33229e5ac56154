#include "checks/checker.h"

#include "checks/allocations.h"
#include "checks/finding_log.h"
#include "checks/group_check.h"
#include "checks/init_check.h"
#include "checks/memory_check.h"

#include "codeobj/demangle.h"

#include <vector>

namespace fade::checks {
namespace {

/// What all workers of a dispatch share.
struct Job {
  const Options &options;
  const ObservedMemory &memory;
  const ObservedDispatch &dispatch;
  bool reports; ///< false: only what it writes is noted
};

class Worker : public WorkerObserver {
public:
  explicit Worker(const Job &job)
      : job_(job), reporter_(job.dispatch), memory_(job.memory, job.dispatch) {}

  void groupBegins(ObservedGroup &group) override {
    if (!job_.reports || !wantsGroup(group)) return;
    std::unique_ptr<GroupCheck> check = groups_.take();
    check->begin(group, job_.options);
    group.state = check.release();
  }
  void groupEnds(ObservedGroup &group) override {
    if (GroupCheck *check = stateOf(group)) groups_.give(std::unique_ptr<GroupCheck>(check));
    group.state = nullptr;
  }
  void waveEnds(const ObservedWave &wave, uint64_t pc) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->waveEnds(wave, pc);
  }
  void barrier(const ObservedWave &wave, uint64_t pc, uint64_t lanes) override {
    if (GroupCheck *check = stateOf(*wave.group)) check->barrier(wave, pc, lanes, reporter_);
  }
  void barrierPassed(ObservedGroup &group) override {
    if (GroupCheck *check = stateOf(group)) check->barrierPassed(group, reporter_);
  }
  void access(const ObservedWave &wave, const ObservedAccess &access) override {
    GroupCheck *check = stateOf(*wave.group);
    if (check && job_.options.has(Check::memory)) memory_.access(wave, access, reporter_);
    if (access.space == AccessSpace::lds) {
      if (check) check->lds(wave, access, reporter_);
    } else if (access.space == AccessSpace::global && job_.options.has(Check::init)) {
      init_.access(wave, access, check ? &reporter_ : nullptr);
    }
  }

  bool passesFault(uint64_t address, uint64_t, bool) override {
    return job_.options.has(Check::memory) && MemoryCheck::passesFault(address);
  }

private:
  /// Kept for the next workgroups: they are large.
  class Pool {
  public:
    std::unique_ptr<GroupCheck> take() {
      if (free_.empty()) return std::make_unique<GroupCheck>();
      auto check = std::move(free_.back());
      free_.pop_back();
      return check;
    }
    void give(std::unique_ptr<GroupCheck> check) { free_.push_back(std::move(check)); }

  private:
    std::vector<std::unique_ptr<GroupCheck>> free_;
  };

  static GroupCheck *stateOf(const ObservedGroup &group) {
    return static_cast<GroupCheck *>(group.state);
  }
  bool wantsGroup(const ObservedGroup &group) const {
    const WorkgroupFilter &filter = job_.options.settings.workgroups;
    for (std::size_t i = 0; i < 3; ++i)
      if (group.id[i] < filter.first[i] || group.id[i] > filter.last[i]) return false;
    return true;
  }

  const Job &job_;
  Reporter reporter_;
  MemoryCheck memory_;
  InitCheck init_;
  Pool groups_;
};

class DispatchChecker : public DispatchObserver {
public:
  DispatchChecker(const Job &job, uint32_t workers) : job_(job), workers_(workers) {}
  WorkerObserver *worker(uint32_t n) override {
    if (!workers_[n]) workers_[n] = std::make_unique<Worker>(job_);
    return workers_[n].get();
  }

private:
  const Job job_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

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
  const bool reports = isChosen(dispatch) && !isOfRuntime(dispatch.kernel);
  if (reports) FindingLog::instance().countDispatch();
  // What the others write must be known, too.
  if (!reports && !options_.has(Check::init)) return nullptr;
  return std::make_unique<DispatchChecker>(Job{options_, memory_, dispatch, reports}, workers);
}

void Checker::memoryWritten(uint64_t address, uint64_t size) {
  if (options_.has(Check::init)) InitCheck::noteWritten(address, size);
}

} // namespace fade::checks

extern "C" __attribute__((visibility("default"))) fade::Observer *
fade_observer(uint32_t version, const char *, const fade::ObservedMemory *memory) {
  using namespace fade::checks;
  if (version != FADE_OBSERVER_VERSION || !FindingLog::instance().isOpen()) return nullptr;
  return new Checker(*memory);
}
