// The door of a CaptureSession: holds other queues and copies back while memory is read, and knows
// when what was under way before has come to rest.
#include "base/diagnostics.h"
#include "hsa/capture_gates.h"
#include "hsa/capture_session.h"

#include <algorithm>
#include <cstring>

namespace fade {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long other queues may take to come to rest. Longer hardly helps: what does not end by then
// usually waits for the kernel that is to be captured.
constexpr auto kRestPatience = std::chrono::milliseconds(2000);

} // namespace

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
  marks.reserve(marks.size() + 1);
  mark.signal = services_.polled.take();
  if (mark.signal.handle == 0) return false;
  marks.push_back(mark);
  out.push_back(gates::barrier({}, mark.signal));
  return true;
}

/// In one critical section: a batch is behind the door, or its marks are known. There is room in
/// `packets` for one more.
void CaptureSession::passDoor(QueueState &queue, Packets &packets, std::vector<Mark> &marks) {
  const bool is_behind = closed_for_ && closed_for_ != &queue;
  if (is_behind)
    for (Mark &mark : marks) mark.door = door_.handle;
  std::deque<Mark> &known = marks_[&queue].marks;
  const std::size_t before = known.size();
  try {
    for (const Mark &mark : marks) known.push_back(mark);
  } catch (...) { // no memory
    while (known.size() > before) known.pop_back();
    throw;
  }
  if (is_behind) packets.insert(packets.begin(), gates::barrier(door_, {}));
  while (known.size() > 1 && gates::isReached(known[1].signal)) {
    services_.polled.giveBack(known.front().signal);
    known.pop_front();
  }
}

void CaptureSession::closeDoor(const QueueState &own) {
  const hsa_signal_t door = services_.polled.take();
  const hsa_signal_t copy_door = services_.interrupts.take();
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
  gates::open(door_);
  opened_.push_back(door_);
  if (copy_door_.handle != 0) {
    gates::open(copy_door_);
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
      std::ranges::count_if(copies_, [](uint64_t copy) { return !gates::isReached({copy}); }));
}

bool CaptureSession::isAtRest(const QueueState *queue) {
  const std::lock_guard lock(mutex_);
  const Marks &known = marks_[queue];
  // What came after the door was closed stands behind it.
  const auto end = std::ranges::find_if(
      known.marks, [&](const Mark &mark) { return closed_for_ && mark.door == door_.handle; });
  if (end == known.marks.begin() || gates::isReached(std::prev(end)->signal)) return true;
  if (known.queue && known.queue->destroyed.load(std::memory_order_acquire)) return true;
  // It stands at gates of its own.
  if (std::ranges::any_of(waiting_, [&](const auto &job) {
        return job->queue.get() == queue && gates::isReached(job->reached);
      }))
    return true;
  // It stands before a packet that waits for others, which are at rest as well.
  const auto next = std::find_if(known.marks.begin(), end,
                                 [](const Mark &mark) { return !gates::isReached(mark.signal); });
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
  const auto deadline = SteadyClock::now() + services_.settings.patient(kRestPatience);
  // Twice in a row: what one of them stood waiting for may have ended after it was looked at.
  uint32_t busy = 0;
  for (int calm = 0; calm < 2;) {
    busy = static_cast<uint32_t>(
        std::ranges::count_if(others, [&](const QueueState *queue) { return !isAtRest(queue); }));
    calm = busy == 0 ? calm + 1 : 0;
    if (busy == 0) continue;
    if (SteadyClock::now() >= deadline) break;
    std::this_thread::sleep_for(gates::kPoll);
  }
  if (busy != 0) note("capture: {} other queues did not become idle", busy);
  // Copies that engines have.
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t copies = copiesUnderWay();
      is_reading_ = copies == 0 || SteadyClock::now() >= deadline;
      if (is_reading_ && copies != 0) note("capture: {} copies did not complete", copies);
      if (is_reading_) return busy + (copies == 0 ? 0 : 1);
    }
    std::this_thread::sleep_for(gates::kPoll);
  }
}

} // namespace fade
