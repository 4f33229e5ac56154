// Gates around dispatches, and the thread that works at them. What holds other queues back is in
// capture_door.cpp, what reads memory in capture_reading.cpp.
#include "hsa/capture_session.h"

#include "base/diagnostics.h"
#include "base/hip_helpers.h"
#include "base/quiet_thread.h"
#include "base/run_folder.h"
#include "fade/kernel_name.h"
#include "hsa/capture_gates.h"
#include "hsa/signal_times.h"
#include "hsa/unseen.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fmt/ranges.h>

namespace fade {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A kernel that runs longer than this may wait for what stands before the door.
constexpr auto kDoorPatience = std::chrono::milliseconds(5000);
// At the end of the process: for gates that were never reached, and for a capture under way.
constexpr auto kEndPatience = std::chrono::milliseconds(3000);
constexpr auto kLongestEnd = std::chrono::minutes(10);
// For what is written when the GPU has stopped.
constexpr auto kStopPatience = std::chrono::milliseconds(10000);

/// Of this thread, which does all the work of a capture but for the engine's copies.
double processorSeconds() {
  timespec time{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// A name that ends with '/' is a run, in which this process has a folder of its own.
std::string placeOf(const std::string &captures) {
  if (!captures.ends_with('/')) return captures;
  const auto folder = makeProcessFolder(captures);
  if (folder) return *folder;
  warn("{}", folder.error().message());
  return captures;
}

} // namespace

/// Replays know no clusters, and nothing that a dispatch would wait for.
static bool canBeReplayed(const DispatchPacket &packet) {
  return kindOf(packet) == PacketKind::dispatch ||
         (!shapeOf(packet).has_clusters && ExtendedDispatch::of(packet).waits_for.handle == 0);
}

bool CaptureSession::isWanted(KernelEntry &kernel, uint64_t ordinal) {
  if (isHipHelper(kernel.info->symbol())) return false;
  const bool is_wanted =
      kernel.is_chosen && services_.selection.wantsDispatch(kernel.info->symbol(), ordinal);
  const std::lock_guard lock(mutex_);
  if (taken_ == 0) ++ran_[kernel.info];
  if (!is_wanted) return false;
  if (is_stopping_ || taken_ >= services_.settings.capture_limit) return false;
  ++taken_;
  return true;
}

std::unique_ptr<CaptureSession::Job>
CaptureSession::makeJob(const std::shared_ptr<QueueState> &queue, const DispatchPacket &packet) {
  const auto kernel = services_.registry.find(packet.kernel_object);
  if (!kernel) return nullptr;
  const uint64_t ordinal = ++kernel->dispatches;
  if (!isWanted(*kernel, ordinal)) return nullptr;
  if (!canBeReplayed(packet)) {
    unseen().add(Unseen::Kind::cluster);
    const std::lock_guard lock(mutex_);
    --taken_;
    return nullptr;
  }
  std::unique_ptr<Job> job;
  try {
    job = std::make_unique<Job>();
    job->queue = queue;
    job->kernel = kernel;
    job->ordinal = ordinal;
    job->packet = packet;
    for (hsa_signal_t *signal : {&job->reached, &job->go, &job->done, &job->leave})
      *signal = services_.polled.take();
  } catch (...) { // no memory
    const Job none;
    dismiss(job ? *job : none);
    throw;
  }
  if (job->reached.handle != 0 && job->go.handle != 0 && job->done.handle != 0 &&
      job->leave.handle != 0)
    return job;
  dismiss(*job);
  warn("capture: the runtime has no signals left: {} is not captured", kernel->info->name());
  return nullptr;
}

/// A job that was made, and whose gates nobody has put into a queue.
void CaptureSession::dismiss(const Job &job) {
  for (const hsa_signal_t signal : {job.reached, job.go, job.done, job.leave})
    if (signal.handle != 0) services_.polled.giveBack(signal);
  const std::lock_guard lock(mutex_);
  --taken_;
}

void CaptureSession::putGates(const Job &job, Packets &out) const {
  out.push_back(gates::barrier({}, job.reached));
  out.push_back(gates::barrier(job.go, {}));
  DispatchPacket dispatch = job.packet;
  dispatch.header = asFence(dispatch.header);
  dispatch.completion_signal = job.done;
  out.push_back(dispatch);
  out.push_back(gates::barrier(job.leave, {}));
}

bool CaptureSession::isOver() {
  const std::lock_guard lock(mutex_);
  return isOverNow();
}

/// While packets are rewritten it is not over: they may get the last gates of all.
bool CaptureSession::isOverNow() const {
  return taken_ >= services_.settings.capture_limit && waiting_.empty() && !is_working_ &&
         rewriting_ == 0;
}

void CaptureSession::rewrite(const std::shared_ptr<QueueState> &queue, Packets &packets) {
  struct Rewriting {
    CaptureSession &session;
    ~Rewriting() {
      const std::lock_guard lock(session.mutex_);
      --session.rewriting_;
    }
  };
  {
    const std::lock_guard lock(mutex_);
    if (isOverNow()) return;
    ++rewriting_;
  }
  const Rewriting rewriting{*this};
  Packets out;
  out.reserve(packets.size() + 5);
  Added added;
  // Without memory nothing of it happens, and the packets stay as they are.
  try {
    addGates(queue, packets, out, added);
  } catch (...) {
    for (const Mark &mark : added.marks) services_.polled.giveBack(mark.signal);
    for (const auto &job : added.jobs) dismiss(*job);
    throw;
  }
  packets = std::move(out);
}

void CaptureSession::addGates(const std::shared_ptr<QueueState> &queue, const Packets &packets,
                              Packets &out, Added &added) {
  for (const DispatchPacket &packet : packets) {
    if (gates::isWaiting(packet)) (void)putMark(packet, out, added.marks);
    if (kindOf(packet) == PacketKind::unknown) unseen().addPacket(typeOf(packet), formatOf(packet));
    std::list<std::unique_ptr<Job>> job; // which is there before the job: that cannot be lost
    if (runsKernel(packet)) {
      job.emplace_back();
      job.back() = makeJob(queue, packet);
    }
    if (job.empty() || !job.front()) {
      out.push_back(packet);
      continue;
    }
    added.jobs.splice(added.jobs.end(), job);
    putGates(*added.jobs.back(), out);
  }
  (void)putMark(std::nullopt, out, added.marks);
  // Waits for room, which must not keep the thread from its work. With one for the door.
  (void)queue->flow.submit(out.size() + 1, services_.polled);
  out.reserve(out.size() + 2); // for the door, and for a mark
  const std::lock_guard lock(mutex_);
  if (!added.jobs.empty() && !has_thread_) {
    startQuietThread("fade-capture", [this] { work(); }).detach();
    has_thread_ = true;
  }
  marks_[queue.get()].queue = queue;
  passDoor(*queue, out, added.marks);
  added.marks.clear();
  if (const auto mark = queue->flow.mark(services_.polled))
    std::memcpy(&out.emplace_back(), &*mark, sizeof *mark);
  waiting_.splice(waiting_.end(), added.jobs);
  changed_.notify_all();
}

void CaptureSession::work() {
  while (auto job = nextReached()) {
    process(*job);
    const std::lock_guard lock(mutex_);
    is_working_ = false;
    running_in_ = nullptr;
    kernel_.clear();
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

/// Whichever comes first: one queue may wait for what stands behind another's gates.
std::unique_ptr<CaptureSession::Job> CaptureSession::nextReached() {
  for (;;) {
    tendReleased();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty() || !released_.empty(); });
    if (is_stopping_ && waiting_.empty() && (released_.empty() || SteadyClock::now() > stop_by_))
      return nullptr;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!gates::isReached((*at)->reached)) continue;
      auto job = std::move(*at);
      waiting_.erase(at);
      is_working_ = true;
      return job;
    }
    changed_.wait_for(lock, gates::kPoll);
  }
}

void CaptureSession::abandon(Job &job, const std::string &why) {
  warn("capture: {} (dispatch {}) is not captured: {}", job.kernel->info->name(), job.ordinal, why);
  job.writer = nullptr;
}

/// Captures that wait for their turn do not take place: their gates are opened.
void CaptureSession::releaseWaiting(const std::string &why) {
  const std::lock_guard lock(mutex_);
  for (auto &job : waiting_) {
    abandon(*job, why);
    gates::open(job->go);
    released_.push_back(std::move(job));
  }
  waiting_.clear();
}

/// Those that run without being captured, and are done.
void CaptureSession::tendReleased() {
  const std::lock_guard lock(mutex_);
  std::erase_if(released_, [&](const auto &job) {
    if (!gates::isReached(job->done)) return job->queue->destroyed.load(std::memory_order_acquire);
    letLeave(*job);
    opened_.push_back(job->leave);
    return true;
  });
}

bool CaptureSession::waitUntilDone(Job &job) {
  auto deadline = SteadyClock::now() + services_.settings.patient(kDoorPatience);
  bool is_late = false;
  for (unsigned n = 0; !gates::isReached(job.done); ++n) {
    if (job.queue->destroyed.load(std::memory_order_acquire)) return false;
    std::this_thread::sleep_for(n < 100 ? gates::kPoll : 10 * gates::kPoll);
    tendReleased();
    {
      const std::lock_guard lock(mutex_);
      if ((is_stopping_ && SteadyClock::now() > stop_by_) || hasStopped(*job.queue)) return false;
    }
    if (is_late || SteadyClock::now() < deadline) continue;
    is_late = true; // it may wait for another queue's kernel
    ++job.description.other_queues_busy;
    openDoor();
    releaseWaiting(fmt::format("{}, which runs long, may wait for it", job.kernel->info->name()));
  }
  return true;
}

bool CaptureSession::hasStopped(const QueueState &queue) const {
  return has_gpu_stopped_ || stopped_queues_.contains(queue.number);
}

void CaptureSession::gpuStopped(std::optional<uint64_t> queue) {
  std::unique_lock lock(mutex_);
  if (queue)
    stopped_queues_.insert(*queue);
  else
    has_gpu_stopped_ = true;
  const auto patience = services_.settings.patient(kStopPatience);
  if (running_in_ && hasStopped(*running_in_))
    changed_.wait_for(lock, patience, [&] { return !is_working_; });
}

/// For what is said if the GPU stops in it.
void CaptureSession::watch(Job &job) const {
  DeathWatch::Dispatch &note = job.watched;
  note.id = job.ordinal;
  note.queue = job.queue->number;
  note.agent = job.queue->agent->number;
  note.kernel = job.kernel->info;
  note.grid = job.description.grid;
  note.workgroup = job.description.workgroup;
  note.signal = job.done;
  note.arguments = job.packet.kernarg_address;
  note.arguments_size = job.kernel->device.kernarg_size;
  services_.deaths->dispatched(note);
}

/// False if it does not end.
bool CaptureSession::runDispatch(Job &job) {
  const auto setRunning = [&](const QueueState *queue) {
    const std::lock_guard lock(mutex_);
    running_in_ = queue;
  };
  DeathWatch *const deaths = services_.deaths;
  if (deaths) watch(job);
  setRunning(job.queue.get());
  gates::open(job.go);
  const bool is_done = waitUntilDone(job);
  if (is_done) setRunning(nullptr); // else it is over when the capture is written
  if (deaths) deaths->ended(job.watched);
  return is_done;
}

/// Does to the application's signal what the GPU would have done. The GPU has passed the gates
/// before the dispatch.
void CaptureSession::letLeave(Job &job) {
  if (job.packet.completion_signal.handle != 0) {
    copyTimes(job.done, job.packet.completion_signal);
    hsaApi().core.hsa_signal_subtract_screlease_fn(job.packet.completion_signal, 1);
  }
  gates::open(job.leave);
  for (const hsa_signal_t signal : {job.reached, job.go, job.done})
    services_.polled.giveBack(signal);
}

void CaptureSession::process(Job &job) {
  const auto began = SteadyClock::now();
  const double cpu_before = processorSeconds();
  // Nobody's patience with a full queue may end while this thread is what holds it up.
  ++QueueFlow::standstills;
  try {
    closeDoor(*job.queue);
    describe(job);
    job.description.other_queues_busy = quiesce(*job.queue);
    auto writer = capture::Writer::create(
        placeOf(services_.settings.capture),
        fmt::format("{}.{}", capture::folderName(job.description.kernel), job.ordinal));
    if (writer)
      job.writer = std::move(*writer);
    else
      abandon(job, writer.error().message());
    readState(job, capture::State::before);
  } catch (const std::exception &e) {
    abandon(job, e.what());
  }
  --QueueFlow::standstills;
  const bool is_done = runDispatch(job);
  ++QueueFlow::standstills;
  try {
    job.description.has_after = is_done;
    if (is_done) {
      readState(job, capture::State::after);
      readDuration(job);
    }
  } catch (const std::exception &e) {
    abandon(job, e.what());
  }
  --QueueFlow::standstills;
  {
    const std::lock_guard lock(mutex_);
    if (copies_through_ != 0) ++job.description.other_queues_busy;
  }
  openDoor();
  const double held = std::chrono::duration<double>(SteadyClock::now() - began).count();
  // Before the application learns that its kernel has ended: it may end at once by _exit() or exec.
  try {
    finish(job, held);
  } catch (const std::exception &e) {
    abandon(job, e.what());
  }
  if (is_done)
    letLeave(job);
  else
    gates::open(job.leave); // the GPU may still write to the others
  note("capture: {:.1f} MiB read in {:.3f} s of processor time",
       static_cast<double>(read_.load()) / (1 << 20), processorSeconds() - cpu_before);
  const std::lock_guard lock(mutex_);
  opened_.push_back(job.leave);
}

void CaptureSession::stop() {
  std::unique_lock lock(mutex_);
  if (!has_thread_) return;
  const auto patience = services_.settings.patient(kEndPatience);
  const auto isIdle = [&] { return waiting_.empty() && !is_working_; };
  // What is being read comes to its end; what has not been reached by then, or does not end, does
  // not.
  const auto deadline = SteadyClock::now() + patience;
  while (!isIdle() && (is_working_ && !running_in_ ? SteadyClock::now() < deadline + kLongestEnd
                                                   : SteadyClock::now() < deadline))
    changed_.wait_for(lock, std::chrono::milliseconds(10));
  is_stopping_ = true;
  stop_by_ = SteadyClock::now() + patience;
  lock.unlock();
  releaseWaiting("the process ends");
  openDoor();
  lock.lock();
  changed_.notify_all();
  changed_.wait_for(lock, 2 * patience, [&] { return has_ended_; });
}

std::string CaptureSession::whyNothing() {
  const std::lock_guard lock(mutex_);
  if (taken_ != 0) return "";
  if (ran_.empty()) return "no kernel ran";
  std::vector<std::string> chosen, all;
  for (const auto &[kernel, times] : ran_) {
    const std::string name = shortKernelName(kernel->name(), 60);
    all.push_back(name);
    if (services_.selection.wantsKernel(kernel->name()))
      chosen.push_back(fmt::format("{} ran {} time{}", name, times, times == 1 ? "" : "s"));
  }
  const auto list = [](std::vector<std::string> &names) {
    constexpr std::size_t most = 5;
    std::ranges::sort(names);
    const std::size_t more = names.size() - std::min(names.size(), most);
    names.resize(names.size() - more);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       more == 0 ? "" : fmt::format(" and {} more", more));
  };
  if (chosen.empty())
    return fmt::format("--kernels matches none of the kernels that ran: {}", list(all));
  return fmt::format("none of the requested dispatches ran: {}", list(chosen));
}

void CaptureSession::release() {
  const std::lock_guard lock(mutex_);
  for (const hsa_signal_t signal : opened_) services_.polled.giveBack(signal);
  for (const hsa_signal_t signal : opened_copy_doors_) services_.interrupts.giveBack(signal);
  for (const auto &[queue, known] : marks_)
    for (const Mark &mark : known.marks) services_.polled.giveBack(mark.signal);
  opened_.clear();
  opened_copy_doors_.clear();
  marks_.clear();
  if (has_ended_) reader_.reset(); // it has some of its own
}

} // namespace fade
