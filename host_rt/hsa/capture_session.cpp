#include "hsa/capture_session.h"

#include "base/careful_read.h"
#include "base/diagnostics.h"
#include "base/quiet_thread.h"
#include "hsa/run_place.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <hsa/amd_hsa_signal.h>

namespace fade {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long other queues may take to come to rest. Longer hardly helps: what does not end by then
// usually waits for the kernel that is to be captured.
constexpr auto kRestPatience = std::chrono::milliseconds(2000);
// A kernel that runs longer than this may wait for what stands before the door.
constexpr auto kDoorPatience = std::chrono::milliseconds(5000);
constexpr auto kCopyPatience = std::chrono::milliseconds(10000);
// At the end of the process: for gates that were never reached, and for a capture under way.
constexpr auto kEndPatience = std::chrono::milliseconds(3000);
constexpr auto kLongestEnd = std::chrono::minutes(10);
// For what is written when the GPU has stopped.
constexpr auto kStopPatience = std::chrono::milliseconds(10000);

constexpr auto kPoll = std::chrono::microseconds(50);

bool isReached(hsa_signal_t signal) {
  return hsaApi().core.hsa_signal_load_scacquire_fn(signal) <= 0;
}
void open(hsa_signal_t signal) { hsaApi().core.hsa_signal_store_screlease_fn(signal, 0); }

constexpr uint16_t kFenced = 1 << HSA_PACKET_HEADER_BARRIER |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

DispatchPacket barrier(hsa_signal_t waits_for, hsa_signal_t completes) {
  hsa_barrier_and_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | kFenced;
  packet.dep_signal[0] = waits_for;
  packet.completion_signal = completes;
  DispatchPacket out;
  std::memcpy(&out, &packet, sizeof out);
  return out;
}

unsigned typeOf(const DispatchPacket &packet) {
  constexpr uint16_t mask = (1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1;
  return (packet.header >> HSA_PACKET_HEADER_TYPE) & mask;
}
bool isKernelDispatch(const DispatchPacket &packet) {
  return typeOf(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}
/// A barrier that waits for signals and comes after all before it.
bool isWaiting(const DispatchPacket &packet) {
  if (typeOf(packet) != HSA_PACKET_TYPE_BARRIER_AND && typeOf(packet) != HSA_PACKET_TYPE_BARRIER_OR)
    return false;
  hsa_barrier_and_packet_t waiting;
  std::memcpy(&waiting, &packet, sizeof waiting);
  return (packet.header >> HSA_PACKET_HEADER_BARRIER & 1) != 0 &&
         std::ranges::any_of(waiting.dep_signal, [](hsa_signal_t s) { return s.handle != 0; });
}

/// Of this thread, which does all the work of a capture but for the engine's copies.
double processorSeconds() {
  timespec time{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string inMib(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

} // namespace

bool CaptureSession::isWanted(KernelEntry &kernel, uint64_t ordinal) {
  if (!kernel.is_chosen || kernel.info->symbol().starts_with("__amd_rocclr_") ||
      !runtime_.selection().wantsDispatch(kernel.info->symbol(), ordinal))
    return false;
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || taken_ >= runtime_.settings().capture_limit) return false;
  ++taken_;
  return true;
}

std::unique_ptr<CaptureSession::Job>
CaptureSession::makeJob(const std::shared_ptr<QueueState> &queue, const DispatchPacket &packet) {
  const auto kernel = runtime_.registry().find(packet.kernel_object);
  if (!kernel) return nullptr;
  const uint64_t ordinal = ++kernel->dispatches;
  if (!isWanted(*kernel, ordinal)) return nullptr;
  auto job = std::make_unique<Job>();
  job->queue = queue;
  job->kernel = kernel;
  job->ordinal = ordinal;
  job->packet = packet;
  for (hsa_signal_t *signal : {&job->reached, &job->go, &job->done, &job->leave}) {
    *signal = runtime_.polledSignals().take();
    if (signal->handle == 0) {
      warn("capture: the runtime has no signals left: {} is not captured", kernel->info->name());
      return nullptr;
    }
  }
  return job;
}

void CaptureSession::putGates(const Job &job, Packets &out) const {
  out.push_back(barrier({}, job.reached));
  out.push_back(barrier(job.go, {}));
  DispatchPacket dispatch = job.packet;
  dispatch.header = static_cast<uint16_t>(dispatch.header | kFenced);
  dispatch.completion_signal = job.done;
  out.push_back(dispatch);
  out.push_back(barrier(job.leave, {}));
}

/// False if there is no signal for it. `before`: a packet of the application's that waits.
bool CaptureSession::putMark(std::optional<DispatchPacket> before, Packets &out,
                             std::vector<Mark> &marks) {
  Mark mark;
  if (before) {
    hsa_barrier_and_packet_t packet; // "or" looks the same
    std::memcpy(&packet, &*before, sizeof packet);
    std::ranges::copy(packet.dep_signal, mark.waits_for.begin());
    mark.for_any = typeOf(*before) == HSA_PACKET_TYPE_BARRIER_OR;
  }
  mark.signal = runtime_.polledSignals().take();
  if (mark.signal.handle == 0) return false;
  out.push_back(barrier({}, mark.signal));
  marks.push_back(mark);
  return true;
}

/// In one critical section: a batch is behind the door, or its marks are known.
void CaptureSession::passDoor(QueueState &queue, Packets &packets, std::vector<Mark> marks) {
  if (closed_for_ && closed_for_ != &queue) {
    packets.insert(packets.begin(), barrier(door_, {}));
    for (Mark &mark : marks) mark.door = door_.handle;
  }
  std::deque<Mark> &known = marks_[&queue].marks;
  known.insert(known.end(), marks.begin(), marks.end());
  while (known.size() > 1 && isReached(known[1].signal)) {
    runtime_.polledSignals().giveBack(known.front().signal);
    known.pop_front();
  }
}

bool CaptureSession::isOver() {
  const std::lock_guard lock(mutex_);
  return taken_ >= runtime_.settings().capture_limit && waiting_.empty() && !is_working_;
}

void CaptureSession::rewrite(const std::shared_ptr<QueueState> &queue, Packets &packets) {
  if (isOver()) return;
  Packets out;
  out.reserve(packets.size() + 5);
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<Mark> marks;
  for (const DispatchPacket &packet : packets) {
    if (isWaiting(packet)) (void)putMark(packet, out, marks);
    auto job = isKernelDispatch(packet) ? makeJob(queue, packet) : nullptr;
    if (!job) {
      out.push_back(packet);
      continue;
    }
    putGates(*job, out);
    jobs.push_back(std::move(job));
  }
  (void)putMark(std::nullopt, out, marks);
  // Waits for room, which must not keep the thread from its work. With one for the door.
  (void)queue->flow.submit(out.size() + 1, runtime_.polledSignals());
  const std::lock_guard lock(mutex_);
  marks_[queue.get()].queue = queue;
  passDoor(*queue, out, std::move(marks));
  if (const auto mark = queue->flow.mark(runtime_.polledSignals()))
    std::memcpy(&out.emplace_back(), &*mark, sizeof *mark);
  if (!jobs.empty() && !has_thread_) {
    startQuietThread("fade-capture", [this] { work(); }).detach();
    has_thread_ = true;
  }
  for (auto &job : jobs) waiting_.push_back(std::move(job));
  packets = std::move(out);
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
      if (!isReached((*at)->reached)) continue;
      auto job = std::move(*at);
      waiting_.erase(at);
      is_working_ = true;
      return job;
    }
    changed_.wait_for(lock, kPoll);
  }
}

void CaptureSession::closeDoor(const QueueState &own) {
  const hsa_signal_t door = runtime_.polledSignals().take();
  const hsa_signal_t copy_door = runtime_.interruptSignals().take();
  const std::lock_guard lock(mutex_);
  copies_through_ = 0;
  if (door.handle == 0) return;
  door_ = door;
  copy_door_ = copy_door;
  closed_for_ = &own;
}

void CaptureSession::openDoor() {
  const std::lock_guard lock(mutex_);
  if (!closed_for_) return;
  open(door_);
  opened_.push_back(door_);
  if (copy_door_.handle != 0) {
    open(copy_door_);
    opened_copy_doors_.push_back(copy_door_);
  }
  closed_for_ = nullptr;
  is_reading_ = false;
}

hsa_signal_t CaptureSession::admitCopy(hsa_signal_t copy) {
  const std::lock_guard lock(mutex_);
  if (closed_for_ && copy_door_.handle != 0) return copy_door_;
  copies_.insert(copy.handle);
  return {};
}

void CaptureSession::copyBegins(hsa_signal_t copy) {
  const std::lock_guard lock(mutex_);
  copies_.insert(copy.handle);
  if (is_reading_) ++copies_through_;
}

void CaptureSession::copyEnds(hsa_signal_t copy) {
  const std::lock_guard lock(mutex_);
  copies_.erase(copy.handle);
}

/// By their signals: the thread that would tell of their end may be busy with the application's
/// handlers, which may wait for what is held back.
std::size_t CaptureSession::copiesUnderWay() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(copies_, [](uint64_t copy) { return !isReached({copy}); }));
}

bool CaptureSession::isAtRest(const QueueState *queue) {
  const std::lock_guard lock(mutex_);
  const Marks &known = marks_[queue];
  // What came after the door was closed stands behind it.
  const auto end = std::ranges::find_if(
      known.marks, [&](const Mark &mark) { return closed_for_ && mark.door == door_.handle; });
  if (end == known.marks.begin() || isReached(std::prev(end)->signal)) return true;
  if (known.queue && known.queue->destroyed.load(std::memory_order_acquire)) return true;
  // It stands at gates of its own.
  if (std::ranges::any_of(waiting_, [&](const auto &job) {
        return job->queue.get() == queue && isReached(job->reached);
      }))
    return true;
  // It stands before a packet that waits for others, which are at rest as well.
  const auto next = std::find_if(known.marks.begin(), end,
                                 [](const Mark &mark) { return !isReached(mark.signal); });
  if (next == known.marks.begin()) return false;
  const Mark &last = *std::prev(next);
  bool waits = false, is_over = false;
  for (const hsa_signal_t signal : last.waits_for)
    if (signal.handle != 0)
      (hsaApi().core.hsa_signal_load_scacquire_fn(signal) != 0 ? waits : is_over) = true;
  return waits && !(last.for_any && is_over);
}

/// How many of the other queues do not come to rest.
uint32_t CaptureSession::quiesce(const QueueState &own) {
  std::vector<const QueueState *> others;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[queue, marks] : marks_)
      if (queue != &own) others.push_back(queue);
  }
  const auto deadline = SteadyClock::now() + runtime_.settings().patient(kRestPatience);
  uint32_t busy = 0;
  for (const QueueState *queue : others) {
    bool is_at_rest = false;
    while (!(is_at_rest = isAtRest(queue)) && SteadyClock::now() < deadline)
      std::this_thread::sleep_for(kPoll);
    if (!is_at_rest) note("capture: another queue does not come to rest");
    busy += is_at_rest ? 0 : 1;
  }
  // Copies that engines have.
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t copies = copiesUnderWay();
      is_reading_ = copies == 0 || SteadyClock::now() >= deadline;
      if (is_reading_ && copies != 0) note("capture: {} copies do not come to an end", copies);
      if (is_reading_) return busy + (copies == 0 ? 0 : 1);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void CaptureSession::describe(Job &job) {
  const KernelEntry &kernel = *job.kernel;
  const DispatchPacket &packet = job.packet;
  capture::Description &d = job.description;
  d.fade = FADE_VERSION;
  d.runtime = runtimeVersion();
  d.gpu = job.queue->agent->target;
  d.isa = job.queue->agent->isa;
  d.kernel = kernel.info->name();
  d.symbol = kernel.info->symbol();
  d.dispatch = job.ordinal;
  d.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  d.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  d.dimensions = packet.setup & ((1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
  d.private_segment = packet.private_segment_size;
  d.group_segment = packet.group_segment_size;
  d.kernel_object = packet.kernel_object;
  d.kernarg_address = reinterpret_cast<uint64_t>(packet.kernarg_address);
  d.queue_address = reinterpret_cast<uint64_t>(job.queue->queue);
  d.is_cooperative = job.queue->cooperative != nullptr;
  if (packet.kernarg_address) {
    d.arguments.resize(kernel.device.kernarg_size);
    if (!readCarefully(d.arguments.data(), d.kernarg_address, d.arguments.size()))
      d.arguments.clear(); // it is in the regions as well
  }
}

bool CaptureSession::readRegion(Job &job, capture::State state, std::size_t index,
                                Reachable *reachable) {
  const VisibleRegion &region = job.regions[index];
  job.writer->begin(state, index);
  std::string problem;
  uint64_t done = 0;
  const bool is_read = reader_->read(region, [&](std::span<const uint8_t> pages) {
    const Status added = job.writer->add(pages);
    if (!added) problem = added.error().message();
    if (reachable) reachable->scan(pages);
    done += pages.size();
    read_ += pages.size();
    return added.ok();
  });
  if (is_read) return true;
  if (!problem.empty()) { // a full disk, perhaps
    abandon(job, problem);
    return false;
  }
  note("capture: {} bytes at {:#x} ({}) cannot be read", region.region.size, region.region.address,
       capture::kRegionKinds[static_cast<std::size_t>(region.region.kind)]);
  job.writer->skip((region.region.size - done) / capture::kPageSize,
                   state == capture::State::before ? capture::Run::kAbsent : capture::Run::kSame);
  return true;
}

/// From the arguments and the code, whatever pointers lead to. What remains is left out.
void CaptureSession::readReachable(Job &job) {
  Reachable reachable(job.regions);
  reachable.addAddress(job.description.kernarg_address);
  reachable.scan(job.description.arguments);
  for (std::size_t i = 0; i < job.regions.size(); ++i)
    if (job.regions[i].region.kind == capture::RegionKind::code) reachable.add(i);
  while (const auto next = reachable.next())
    if (!readRegion(job, capture::State::before, *next, &reachable)) return;
  for (std::size_t i = job.regions.size(); i-- != 0;)
    if (!reachable.has(i)) {
      job.writer->leaveOut(i);
      job.regions.erase(job.regions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  job.description.only_reachable = true;
}

void CaptureSession::readState(Job &job, capture::State state) {
  if (!job.writer) return;
  const auto hold = memory_.hold();
  if (!reader_)
    reader_ = std::make_unique<MemoryReader>(runtime_.agents(),
                                             runtime_.settings().patient(kCopyPatience));
  if (state == capture::State::before) {
    job.regions = memory_.seenBy(*job.queue->agent);
    beginProgress(job);
    if (runtime_.settings().capture_reachable) {
      readReachable(job);
    } else {
      for (std::size_t i = 0; i < job.regions.size(); ++i)
        if (!readRegion(job, state, i, nullptr)) return;
    }
    for (const VisibleRegion &region : job.regions)
      job.description.regions.push_back(region.region);
    return;
  }
  for (std::size_t i = 0; i < job.regions.size(); ++i)
    if (memory_.isStillThere(job.regions[i]) && !readRegion(job, state, i, nullptr)) return;
}

void CaptureSession::beginProgress(const Job &job) {
  uint64_t total = 0; // before and after
  for (const VisibleRegion &region : job.regions) total += 2 * region.region.size;
  read_ = 0;
  to_read_ = total;
  const std::lock_guard lock(mutex_);
  kernel_ = job.description.kernel;
}

std::string CaptureSession::progress(double seconds) {
  const std::lock_guard lock(mutex_);
  const std::string head = fmt::format("fade: {:.0f} s, ", seconds);
  if (is_working_ && !kernel_.empty())
    return head + fmt::format("capturing {}: {} of {} read", kernel_, inMib(read_.load()),
                              inMib(to_read_.load()));
  return head + fmt::format("{} capture{}", made_, made_ == 1 ? "" : "s");
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
    open(job->go);
    released_.push_back(std::move(job));
  }
  waiting_.clear();
}

/// Those that run without being captured, and are done.
void CaptureSession::tendReleased() {
  const std::lock_guard lock(mutex_);
  std::erase_if(released_, [&](const auto &job) {
    if (!isReached(job->done)) return job->queue->destroyed.load(std::memory_order_acquire);
    letLeave(*job);
    opened_.push_back(job->leave);
    return true;
  });
}

bool CaptureSession::waitUntilDone(Job &job) {
  auto deadline = SteadyClock::now() + runtime_.settings().patient(kDoorPatience);
  bool is_late = false;
  for (unsigned n = 0; !isReached(job.done); ++n) {
    if (job.queue->destroyed.load(std::memory_order_acquire)) return false;
    std::this_thread::sleep_for(n < 100 ? kPoll : 10 * kPoll);
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
  const auto patience = runtime_.settings().patient(kStopPatience);
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
  runtime_.deaths()->dispatched(note);
}

/// False if it does not end.
bool CaptureSession::runDispatch(Job &job) {
  const auto setRunning = [&](const QueueState *queue) {
    const std::lock_guard lock(mutex_);
    running_in_ = queue;
  };
  DeathWatch *const deaths = runtime_.deaths();
  if (deaths) watch(job);
  setRunning(job.queue.get());
  open(job.go);
  const bool is_done = waitUntilDone(job);
  if (is_done) setRunning(nullptr); // else it is over when the capture is written
  if (deaths) deaths->ended(job.watched);
  return is_done;
}

/// Does to the application's signal what the GPU would have done. The GPU has passed the gates
/// before the dispatch.
void CaptureSession::letLeave(Job &job) {
  const auto memoryOf = [](hsa_signal_t signal) {
    return reinterpret_cast<amd_signal_t *>(signal.handle);
  };
  if (job.packet.completion_signal.handle != 0) {
    memoryOf(job.packet.completion_signal)->start_ts = memoryOf(job.done)->start_ts;
    memoryOf(job.packet.completion_signal)->end_ts = memoryOf(job.done)->end_ts;
    hsaApi().core.hsa_signal_subtract_screlease_fn(job.packet.completion_signal, 1);
  }
  open(job.leave);
  for (const hsa_signal_t signal : {job.reached, job.go, job.done})
    runtime_.polledSignals().giveBack(signal);
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
        runtime_.settings().capture,
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
  if (is_done)
    letLeave(job);
  else
    open(job.leave); // the GPU may still write to the others
  openDoor();
  const double held = std::chrono::duration<double>(SteadyClock::now() - began).count();
  finish(job, held);
  note("capture: {} read in {:.3f} s of processor time", inMib(read_.load()),
       processorSeconds() - cpu_before);
  const std::lock_guard lock(mutex_);
  opened_.push_back(job.leave);
}

void CaptureSession::readDuration(Job &job) const {
  hsa_amd_profiling_dispatch_time_t time{};
  if (ok(hsaApi().amd.hsa_amd_profiling_get_dispatch_time_fn(job.queue->agent->handle, job.done,
                                                             &time)))
    job.description.duration_ns = runtime_.nanoseconds(time.end - time.start);
}

void CaptureSession::finish(Job &job, double seconds) {
  if (!job.writer) return;
  std::vector<capture::Code> code;
  if (job.kernel->code) {
    const codeobj::CodeObject *object = job.kernel->code->object();
    const codeobj::Symbol *symbol =
        object ? object->findSymbol(job.description.symbol + ".kd") : nullptr;
    const codeobj::ByteView bytes = job.kernel->code->bytes();
    code.push_back(
        {{bytes.begin(), bytes.end()}, symbol ? job.description.kernel_object - symbol->value : 0});
  }
  const Status done = job.writer->finish(job.description, code);
  if (!done) return abandon(job, done.error().message());
  {
    const std::lock_guard lock(mutex_);
    ++made_;
  }
  const capture::Sizes &sizes = job.writer->sizes();
  warn("captured {} (dispatch {}{}): {} of memory, {} on disk, {:.2f} s{}: {}",
       job.description.kernel, job.ordinal,
       job.description.has_after ? "" : ", which did not end, without memory after it",
       inMib(sizes.memory), inMib(sizes.on_disk), seconds,
       job.description.other_queues_busy == 0
           ? ""
           : fmt::format("; not at rest meanwhile: {}", capture::busyText(job.description)),
       job.writer->path());
}

void CaptureSession::stop() {
  std::unique_lock lock(mutex_);
  if (!has_thread_) return;
  const auto patience = runtime_.settings().patient(kEndPatience);
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

void CaptureSession::release() {
  const std::lock_guard lock(mutex_);
  for (const hsa_signal_t signal : opened_) runtime_.polledSignals().giveBack(signal);
  for (const hsa_signal_t signal : opened_copy_doors_) runtime_.interruptSignals().giveBack(signal);
  for (const auto &[queue, known] : marks_)
    for (const Mark &mark : known.marks) runtime_.polledSignals().giveBack(mark.signal);
  opened_.clear();
  opened_copy_doors_.clear();
  marks_.clear();
  if (has_ended_) reader_.reset(); // it has some of its own
}

} // namespace fade
