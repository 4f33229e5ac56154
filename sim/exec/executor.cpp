#include "exec/executor.h"

#include "base/card_mode.h"
#include "base/trace.h"
#include "exec/dispatch_context.h"
#include "exec/hazard_reporter.h"
#include "exec/kernel_launch.h"
#include "exec/program.h"
#include "exec/residency.h"
#include "exec/resident_group.h"
#include "exec/wave_runner.h"
#include "wave/faults.h"
#include "wave/memory_view.h"

#include <fade/gpu.h>
#include <fade/observer.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fade::sim {

namespace {

// Workgroups with neighbouring numbers that have not begun.
struct Range {
  uint64_t next = 0, end = 0;
  uint64_t size() const { return end - next; }
};

// A dispatch on its way through the workers. Guarded by Impl::mutex, except what says otherwise.
//
// Neighbours often use neighbouring memory, and short workgroups would spend their time waiting for
// the mutex. So a worker takes several at once and runs them one after the other, more each time
// while they are short. What it has not begun it gives back as soon as one does not end by itself,
// because that one may be waiting for another of them.
struct Job {
  static constexpr uint64_t longest_share = 64;
  static constexpr uint64_t enough =
      20000; // instructions of waves, after which others may have a turn

  DispatchContext context; // shared with the waves
  const KernelLaunch *launch = nullptr;
  std::string kernel;           // its name, when it is observed
  std::vector<Range> not_begun; // at most one more than there are workers
  uint64_t share = 1;           // workgroups to take at once
  bool takes_turns = false;     // some did not end by themselves
  bool in_order = false;        // one worker at a time: see kWantsOrder
  uint64_t running = 0;
  uint64_t finished = 0;
  uint64_t resident_limit = 1;
  std::deque<std::unique_ptr<ResidentGroup>> parked; // started, not finished, not on a worker
  bool prefer_new = false; // those that were started may be waiting for others
  DispatchResult result;

  uint64_t total() const { return launch->groups(); }
  bool can_start() const { return !not_begun.empty() && running + parked.size() < resident_limit; }
  bool has_work() const {
    if (in_order && running) return false;
    return !context.halt && (can_start() || !parked.empty());
  }
  bool done() const { return running == 0 && (context.halt || finished == total()); }

  // For those who want to know whether it hangs: slices of workgroups in which no wave came to a
  // new state, since anything moved.
  uint64_t still_slices = 0;
  std::chrono::steady_clock::time_point moved_at = std::chrono::steady_clock::now();
  void note(bool still) {
    if (still)
      still_slices++;
    else
      still_slices = 0, moved_at = std::chrono::steady_clock::now();
  }
  bool stands_still(double seconds) const {
    constexpr uint64_t rounds = 4; // of all workgroups
    return !can_start() && still_slices >= rounds * (running + parked.size()) &&
           std::chrono::steady_clock::now() - moved_at >= std::chrono::duration<double>(seconds);
  }

  void begin(unsigned workers) {
    not_begun.reserve(workers + 1);
    if (total()) not_begun.push_back({0, total()});
  }
  // The lowest numbers first, and towards the end fewer at once, so that all workers end together.
  Range take(uint64_t workers) {
    if (context.schedule) return take_any();
    const auto from = std::ranges::min_element(not_begun, {}, &Range::next);
    if (in_order) workers = 1; // the same shares, whoever takes them
    const uint64_t fair = std::max<uint64_t>(1, from->size() / (4 * workers));
    const Range taken{from->next, from->next + std::min(share, fair)};
    from->next = taken.end;
    if (!from->size()) not_begun.erase(from);
    return taken;
  }
  // Any one, as the schedule says.
  Range take_any() {
    std::ranges::sort(not_begun, {}, &Range::next);
    uint64_t left = 0;
    for (const Range &r : not_begun) left += r.size();
    uint64_t chosen = context.schedule->choose(left);
    const auto from = std::ranges::find_if(not_begun, [&](const Range &r) {
      if (chosen < r.size()) return true;
      chosen -= r.size();
      return false;
    });
    const Range taken{from->next + chosen, from->next + chosen + 1}, behind{taken.end, from->end};
    from->end = taken.next;
    if (!from->size()) not_begun.erase(from);
    if (behind.size()) not_begun.push_back(behind);
    return taken;
  }
  // Which of those that have begun goes on, if it is not the usual choice.
  std::optional<size_t> other_parked() {
    if (!context.schedule || parked.empty()) return std::nullopt;
    if (can_start() && context.schedule->choose(2)) {
      prefer_new = true;
      return std::nullopt;
    }
    const uint64_t chosen = context.schedule->choose(parked.size() + 1);
    return chosen ? std::optional(chosen - 1) : std::nullopt;
  }
  // After `ended` workgroups of what was taken.
  void give_back(Range rest, uint64_t ended, bool last_one_ended) {
    if (!last_one_ended) takes_turns = true;
    if (rest.size()) not_begun.push_back(rest);
    share = takes_turns ? 1 : rest.size() ? ended : std::min(2 * share, longest_share);
  }
};

// Workgroups in flight at once where residency is not a card's: bounded so that their memory stays
// modest.
uint64_t kind_residency(const KernelLaunch &launch) {
  constexpr uint64_t waves_in_flight = 4096;
  return std::max<uint64_t>(1, waves_in_flight / launch.waves_per_group());
}

// A number from 1 to `most`; 0 when the variable is not set, or is something else, which is said
// once.
unsigned number_from(const char *variable, unsigned most, std::once_flag &once,
                     const char *instead) {
  const char *text = std::getenv(variable);
  if (!text || !*text) return 0;
  char *end;
  const long n = std::strtol(text, &end, 10);
  if (!*end && n >= 1 && n <= static_cast<long>(most)) return static_cast<unsigned>(n);
  std::call_once(once, [&] {
    say("%s: '%s' is not a number from 1 to %u; %s", variable, text, most, instead);
  });
  return 0;
}

unsigned default_workers() {
  static std::once_flag once;                 // not for each device
  if (Schedule::from_environment()) return 1; // who else would keep to it
  const unsigned n = number_from("FADE_GPU_WORKERS", 256, once, "there is one per core");
  return n ? n : std::max(1u, std::thread::hardware_concurrency());
}

uint64_t turn() {
  static std::once_flag once;
  const unsigned n = number_from("FADE_GPU_TURN", longest_turn, once, "turns are as by default");
  return n ? n : default_turn;
}

struct NoThreads : std::runtime_error {
  NoThreads() : std::runtime_error("the system gives no thread to run it on") {}
};

// Ends a dispatch early, under the executor's lock; the first reason counts. Nothing is changed
// when there is no memory for the message.
void end_early(Job &job, DispatchResult::Status status, const std::string &message,
               uint64_t address = 0, bool write = false, uint64_t pc = 0) {
  if (job.context.halt == DispatchContext::stopped) return;
  job.result.pc = pc;
  job.result.message = message;
  job.result.status = status;
  job.result.fault_address = address;
  job.result.fault_write = write;
  job.context.halt = DispatchContext::stopped;
}
const char no_memory[] = "out of memory"; // short enough to need none

} // namespace

struct Executor::Impl {
  Impl(const Arch &a, const AddressSpace &m, Hooks h, unsigned n)
      : arch(a), memory(m), hooks(std::move(h)), count(n) {
    services.interrupt = hooks.interrupt;
  }

  const Arch &arch;
  const AddressSpace &memory;
  const Hooks hooks;
  const unsigned count;
  const uint64_t wave_turn = fade::sim::turn();
  const bool resident_like_card = is_like_card("FADE_GPU_RESIDENT");
  std::atomic<uint32_t> compute_units{arch.gpu->card.compute_units};
  std::atomic<Observer *> observer{nullptr};
  HazardReporter hazards; // of dispatches that nobody else observes
  // Where caches are modelled, what is slow is not what is executed.
  const JitUse jit = hooks.caches ? JitUse::off : hooks.jit;
  const bool reports_hazards = looks_behind_calls() || is_like_card("FADE_GPU_HAZARDS");
  DeviceServices services;

  std::mutex mutex;
  // notify_one, which glibc before 2.41 may lose where several threads wait (its bug 25847), only
  // asks for help: whoever calls it looks for work itself before it sleeps, so work never waits for
  // a thread that was not woken. All else is told by notify_all, which is not lost.
  std::condition_variable work, ended;
  std::vector<Job *> jobs;
  size_t turn = 0;
  std::atomic<uint64_t> numbers{0};
  bool quit = false;
  std::vector<std::thread> threads;

  std::mutex programs_mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Program>> programs; // by kernel object

  void start_threads();
  void worker(unsigned number);
  void begin_observing(Job &job);
  template <class Filter> void stop(Filter concerns);
  Job *choose();
  std::shared_ptr<Program> program_of(const KernelLaunch &launch, uint64_t kernel_object);
  std::string name_of(const Job &job) const;
  std::string describe(const Job &job, uint64_t pc, const std::string &what) const;
  void wait_until_done(Job &job, const Residency &fits, std::unique_lock<std::mutex> &lock);
  void watch_until_done(Job &job, HangLimits limits, std::unique_lock<std::mutex> &lock);
  bool ask_whether_hung(Job &job, bool still, double seconds, std::unique_lock<std::mutex> &lock);
  using Group = std::unique_ptr<ResidentGroup>;
  ResidentGroup::Outcome run_slice(Job &job, Group &group, std::optional<uint64_t> start,
                                   unsigned worker, WaveRunner &runner, MemoryView &view,
                                   DispatchStats &stats);
  DispatchResult run(const Dispatch &dispatch);
};

// Threads are started with the first dispatch, and never see the application's signals. With one at
// least the work goes on; with none it is tried again for the next dispatch.
void Executor::Impl::start_threads() {
  if (!threads.empty()) return;
  threads.reserve(count);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (threads.size() < count) {
      auto body = [this, number = static_cast<unsigned>(threads.size())] { worker(number); };
      threads.push_back(hooks.start_thread ? hooks.start_thread(body) : std::thread(body));
    }
  } catch (const std::exception &) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (threads.empty()) throw NoThreads();
  if (threads.size() < count)
    say("%s: the system gives only %zu of %u worker threads", arch.name, threads.size(), count);
}

Job *Executor::Impl::choose() {
  for (size_t i = 0; i < jobs.size(); i++) {
    Job *job = jobs[(turn + i) % jobs.size()];
    if (job->has_work()) {
      turn = (turn + i + 1) % jobs.size();
      return job;
    }
  }
  return nullptr;
}

std::string Executor::Impl::name_of(const Job &job) const {
  std::string kernel =
      hooks.kernel_name ? hooks.kernel_name(job.context.dispatch.kernel_object) : "";
  return kernel.empty() ? fmt::format("{:#x}", job.context.dispatch.kernel_object) : kernel;
}

std::string Executor::Impl::describe(const Job &job, uint64_t pc, const std::string &what) const {
  return fmt::format("{}: kernel {}, pc {:#x}: {}", arch.name, name_of(job), pc, what);
}

// Says once if workgroups that are resident may be waiting for others that do not fit. Whether they
// do cannot be known; on a card nobody would say anything.
void Executor::Impl::wait_until_done(Job &job, const Residency &fits,
                                     std::unique_lock<std::mutex> &lock) {
  constexpr auto patience = std::chrono::seconds(5);
  const auto is_done = [&] { return job.done(); };
  for (bool said = false; resident_like_card && !said;) {
    const uint64_t finished = job.finished;
    if (ended.wait_for(lock, patience, is_done)) return;
    said = job.finished == finished && !job.not_begun.empty() && !job.can_start();
    if (said)
      say("%s: kernel %s: %" PRIu64 " of %" PRIu64 " workgroups are resident (%s), and none has "
          "ended for %d s: if they wait for the others, the kernel never ends, as on a card",
          arch.name, name_of(job).c_str(), fits.groups, job.total(), fits.limit,
          static_cast<int>(patience.count()));
  }
  ended.wait(lock, is_done);
}

// Whether the dispatch is to end, as its observer says. Its waves are paused meanwhile.
bool Executor::Impl::ask_whether_hung(Job &job, bool still, double seconds,
                                      std::unique_lock<std::mutex> &lock) {
  job.context.halt = DispatchContext::paused;
  ended.wait(lock, [&] { return job.running == 0; });
  if (job.context.halt == DispatchContext::stopped || job.finished == job.total()) return false;
  ObservedHang hang;
  hang.is_still = still, hang.seconds = seconds;
  hang.groups = job.total(), hang.groups_ended = job.finished;
  for (const Range &r : job.not_begun) hang.groups_not_begun += r.size();
  lock.unlock(); // nobody touches workgroups of a job that is paused
  std::vector<ObservedWaitingWave> waves;
  for (const Group &group : job.parked) group->add_waiting(waves);
  hang.waves = waves.data(), hang.count = waves.size();
  const bool ends = job.context.observer->hung(hang);
  lock.lock();
  if (ends)
    end_early(job, DispatchResult::Status::stopped,
              still ? "nothing moves any more" : "it takes longer than it may");
  return ends;
}

// As wait_until_done(), and asks the observer when nothing moves, or its time is over.
void Executor::Impl::watch_until_done(Job &job, HangLimits limits,
                                      std::unique_lock<std::mutex> &lock) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const auto began = Clock::now();
  const auto until_next = [&] {
    constexpr Seconds often{0.05};
    const Seconds left{limits.longest - Seconds(Clock::now() - began).count()};
    return limits.longest > 0 ? std::clamp(left, Seconds(0), often) : often;
  };
  const auto is_done = [&] { return job.done(); };
  const auto stands_still = [&](const Job *j) { return j->stands_still(limits.still); };
  while (!ended.wait_for(lock, until_next(), is_done)) {
    const Seconds taken = Clock::now() - began;
    const bool over = limits.longest > 0 && taken.count() >= limits.longest;
    // Another one that moves may yet change what this one waits for.
    const bool still = limits.still > 0 && std::ranges::all_of(jobs, stands_still);
    if (!over && !still) continue;
    const Seconds stood = Clock::now() - job.moved_at;
    if (ask_whether_hung(job, still, still ? stood.count() : taken.count(), lock)) break;
    if (job.context.halt == DispatchContext::stopped) break;
    job.context.halt = DispatchContext::no_halt;
    job.note(false);
    if (over) limits.longest = 0;
    work.notify_all();
  }
  ended.wait(lock, is_done);
}

// Whatever stops a wave for good stops the dispatch.
ResidentGroup::Outcome Executor::Impl::run_slice(Job &job, Group &group,
                                                 std::optional<uint64_t> start, unsigned worker,
                                                 WaveRunner &runner, MemoryView &view,
                                                 DispatchStats &stats) try {
  using Status = DispatchResult::Status;
  auto stop = [&](Status status, uint64_t at, const std::string &message, uint64_t address = 0,
                  bool write = false) {
    std::lock_guard lock(mutex);
    end_early(job, status, message, address, write, at);
  };
  auto pc = [&] { return runner.current() ? runner.current()->pc : 0; };
  try {
    if (!group) group = std::make_unique<ResidentGroup>();
    if (start) group->start(*job.launch, job.context, arch, *start);
    WorkerObserver *watching =
        job.context.observer ? job.context.observer->worker(job.in_order ? 0 : worker) : nullptr;
    return group->run(runner, view, stats, watching);
  } catch (const MemoryFault &f) {
    const std::string message =
        f.fetch ? describe(job, f.address, "no code there, it is outside of GPU memory")
                : describe(job, pc(),
                           fmt::format("{} at {:#x} is outside of GPU memory ({})",
                                       f.write ? "write" : "read", f.address,
                                       job.context.program->text(pc())));
    stop(Status::memory_fault, f.fetch ? f.address : pc(), message, f.address, f.write);
  } catch (const MisalignedAtomic &f) {
    stop(Status::memory_violation, pc(),
         describe(job, pc(),
                  fmt::format("atomic at {:#x} is not aligned ({})", f.address,
                              job.context.program->text(pc()))));
  } catch (const HostAtomic &f) {
    stop(Status::memory_violation, pc(),
         describe(job, pc(),
                  fmt::format("atomic at {:#x}, in host memory, without PCIe atomics ({})",
                              f.address, job.context.program->text(pc()))));
  } catch (const IllegalInstruction &f) {
    stop(Status::illegal_instruction, f.pc, describe(job, f.pc, f.what));
  } catch (const TrapRaised &f) {
    stop(Status::trap, f.pc, describe(job, f.pc, fmt::format("s_trap {}", f.code)));
  } catch (const std::bad_alloc &) {
    stop(Status::out_of_resources, pc(), describe(job, pc(), no_memory));
  } catch (const std::exception &e) {
    stop(Status::bad_dispatch, pc(), describe(job, pc(), e.what()));
  }
  group.reset(); // it may be half prepared
  return ResidentGroup::Outcome::finished;
} catch (...) { // not even memory to say what happened
  std::lock_guard lock(mutex);
  end_early(job, DispatchResult::Status::out_of_resources, no_memory);
  group.reset();
  return ResidentGroup::Outcome::finished;
}

void Executor::Impl::worker(unsigned number) {
  pthread_setname_np(pthread_self(), "fadegpu-worker");
  WaveRunner runner;
  MemoryView view(memory, hooks.caches);
  std::array<Group, 4> idle; // kept for the next workgroups
  size_t idle_count = 0;
  std::unique_lock lock(mutex);
  for (;;) {
    Job *job = nullptr;
    work.wait(lock, [&] { return quit || (job = choose()) != nullptr; });
    if (quit) return;

    Group group;
    Range mine;
    std::optional<uint64_t> start; // a workgroup that has not begun
    if (const auto other = job->other_parked()) {
      group = std::move(job->parked[*other]);
      job->parked.erase(job->parked.begin() + static_cast<ptrdiff_t>(*other));
    } else if (!job->parked.empty() && (!job->prefer_new || !job->can_start())) {
      group = std::move(job->parked.front());
      job->parked.pop_front();
    } else {
      mine = job->take(count);
      start = mine.next++;
      if (idle_count) group = std::move(idle[--idle_count]);
      job->prefer_new = false;
    }
    job->running++;
    lock.unlock();

    DispatchStats stats;
    runner.use(*job->context.program, job->context.schedule ? JitUse::off : jit);
    auto outcome = run_slice(*job, group, start, number, runner, view, stats);
    uint64_t finished = outcome == ResidentGroup::Outcome::finished;
    while (outcome == ResidentGroup::Outcome::finished && mine.size() && !job->context.halt &&
           stats.total().waves < Job::enough) {
      start = mine.next++;
      outcome = run_slice(*job, group, start, number, runner, view, stats);
      finished += outcome == ResidentGroup::Outcome::finished;
    }
    if (outcome == ResidentGroup::Outcome::waiting) std::this_thread::yield();
    const bool watched = job->context.watches_hangs && outcome != ResidentGroup::Outcome::halted;
    const bool still =
        watched && outcome != ResidentGroup::Outcome::finished && group->stands_still();

    lock.lock();
    job->running--;
    job->finished += finished;
    job->result.stats.add(stats);
    if (watched) job->note(still);
    if (start) job->give_back(mine, finished, outcome == ResidentGroup::Outcome::finished);
    if (outcome == ResidentGroup::Outcome::finished) {
      if (group && idle_count < idle.size()) idle[idle_count++] = std::move(group);
    } else {
      // A workgroup that only computes is finished before the next one starts. One that waits, or
      // runs so long that it may be waiting without saying so, lets the others in.
      constexpr uint64_t patience = 8; // slices
      if (outcome == ResidentGroup::Outcome::waiting || group->slices() % patience == 0)
        job->prefer_new = true;
      try {
        job->parked.push_back(std::move(group));
      } catch (const std::bad_alloc &) {
        end_early(*job, DispatchResult::Status::out_of_resources, no_memory);
      }
      work.notify_one();
    }
    if (job->done()) {
      ended.notify_all();
    } else if (job->in_order ? job->has_work() : job->can_start()) {
      work.notify_one();
    }
  }
}

std::shared_ptr<Program> Executor::Impl::program_of(const KernelLaunch &launch,
                                                    uint64_t kernel_object) {
  std::lock_guard lock(programs_mutex);
  auto &slot = programs[kernel_object];
  if (!slot || !slot->is_current()) slot = std::make_shared<Program>(arch, launch.lanes(), memory);
  return slot;
}

Executor::Executor(const Arch &arch, const AddressSpace &memory, Hooks hooks, unsigned workers)
    : impl_(std::make_unique<Impl>(arch, memory, std::move(hooks),
                                   workers ? workers : default_workers())) {}

Executor::~Executor() {
  stop();
  {
    std::lock_guard lock(impl_->mutex);
    impl_->quit = true;
  }
  impl_->work.notify_all();
  for (auto &t : impl_->threads) t.join();
}

// Says what is about to run, and asks whether anybody wants to see it.
void Executor::Impl::begin_observing(Job &job) {
  ObservedDispatch &info = job.context.info;
  info.number = numbers++;
  Observer *loaded = observer.load(std::memory_order_acquire);
  if (!loaded && !reports_hazards) return;
  const Dispatch &d = job.context.dispatch;
  if (hooks.kernel_name) job.kernel = hooks.kernel_name(d.kernel_object);
  info.gpu = arch.name;
  info.kernel = job.kernel.c_str();
  info.kernel_object = d.kernel_object;
  info.entry = job.launch->entry();
  info.kernarg_address = d.kernarg_address;
  info.packet_address = d.packet_address;
  info.queue_address = d.queue_address;
  info.packet_index = d.dispatch_id;
  info.kernarg_bytes = job.launch->kernarg_bytes();
  info.lds_bytes = job.launch->lds_bytes();
  info.scratch_bytes = job.launch->scratch_bytes();
  info.lanes = job.launch->lanes();
  std::copy_n(d.grid.begin(), 3, info.grid);
  std::copy_n(d.workgroup.begin(), 3, info.workgroup);
  // What the loaded one leaves alone is free for the other.
  Observer *const second = reports_hazards ? &hazards : nullptr;
  for (Observer *each : {loaded, second}) {
    if (!each || job.context.observer) continue;
    job.context.observer = each->begin(info, count);
    if (job.context.observer)
      job.context.observer_wants = each->wants() & job.context.observer->wants();
    job.context.watches_hangs = (job.context.observer_wants & kWantsHangs) != 0;
    job.in_order = (job.context.observer_wants & kWantsOrder) != 0;
  }
}

DispatchResult Executor::Impl::run(const Dispatch &dispatch) {
  using Status = DispatchResult::Status;
  const auto began = std::chrono::steady_clock::now();
  const KernelLaunch launch(arch, memory, dispatch);
  Job job;
  job.launch = &launch;
  job.context.dispatch = dispatch;
  auto refuse = [&](Status status, const std::string &why) {
    job.result.status = status;
    job.result.message = describe(job, dispatch.kernel_object, why);
    return std::move(job.result);
  };
  if (!launch.error().empty()) return refuse(Status::bad_dispatch, launch.error());
  std::shared_ptr<Program> program;
  std::unique_lock lock(mutex, std::defer_lock);
  try {
    program = program_of(launch, dispatch.kernel_object);
    program->add_entry(launch.entry());
    program->add_entry(launch.plain_entry());
    job.begin(count);
    job.context.schedule = Schedule::from_environment();
    begin_observing(job);
    lock.lock();
    start_threads();
    jobs.push_back(&job);
  } catch (const std::bad_alloc &) {
    return refuse(Status::out_of_resources, no_memory);
  } catch (const NoThreads &e) {
    return refuse(Status::out_of_resources, e.what());
  } catch (const std::exception &e) {
    return refuse(Status::bad_dispatch, e.what());
  }
  job.context.device = &services;
  job.context.program = program.get();
  job.context.turn = wave_turn;
  const Residency fits = resident_like_card
                             ? residency(arch, launch, compute_units)
                             : Residency{kind_residency(launch), "memory of this machine", 0};
  job.resident_limit = fits.groups;
  work.notify_all();
  if (job.context.watches_hangs)
    watch_until_done(job, job.context.observer->hangLimits(), lock);
  else
    wait_until_done(job, fits, lock);
  std::erase(jobs, &job);
  job.result.stats.workers = static_cast<unsigned>(threads.size());
  lock.unlock();

  DispatchResult &r = job.result;
  if (job.context.observer)
    job.context.observer->end({r.status == Status::ok, r.message.c_str(), program->inexact()});
  r.stats.waves = launch.waves();
  r.stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return std::move(r);
}

DispatchResult Executor::run(const Dispatch &dispatch) try {
  return impl_->run(dispatch);
} catch (const std::bad_alloc &) { // not even memory to say what happened
  DispatchResult r;
  r.status = DispatchResult::Status::out_of_resources;
  r.message = no_memory;
  return r;
}

template <class Filter> void Executor::Impl::stop(Filter concerns) {
  std::lock_guard lock(mutex);
  for (Job *job : jobs)
    if (concerns(*job)) end_early(*job, DispatchResult::Status::stopped, "stopped");
  ended.notify_all();
}

void Executor::stop() {
  impl_->stop([](const Job &) { return true; });
}

void Executor::stop(uint64_t queue_address) {
  impl_->stop([=](const Job &job) { return job.context.dispatch.queue_address == queue_address; });
}

void Executor::init_global_sync(uint32_t count) { impl_->services.global_sync.init(count); }

void Executor::set_compute_units(uint32_t count) { impl_->compute_units = count; }

void Executor::observe(Observer *observer) { impl_->observer = observer; }

unsigned Executor::workers() const { return impl_->count; }

} // namespace fade::sim
