#include "checks/queue_order.h"

namespace fade::checks {

QueueOrder &QueueOrder::instance() {
  static auto *order = new QueueOrder; // outlives every exit handler
  return *order;
}

void QueueOrder::submitted(uint64_t queue, uint64_t index, const HostTime &when,
                           StreamOrder::Ptr command) {
  const std::lock_guard lock(mutex_);
  submitted_[queue].push_back({index, host_, when, std::move(command)});
}

/// The first that reaches this packet is the one that it came with.
const QueueOrder::Submission *QueueOrder::submission(uint64_t queue, uint64_t index) const {
  const auto at = submitted_.find(queue);
  if (at == submitted_.end()) return nullptr;
  for (const Submission &one : at->second)
    if (one.index >= index) return &one;
  return nullptr;
}

HostTime QueueOrder::submittedAt(uint64_t queue, uint64_t index) {
  const std::lock_guard lock(mutex_);
  const Submission *found = submission(queue, index);
  return found ? found->when : HostTime{};
}

bool QueueOrder::isSubmitted(uint64_t queue, uint64_t index) {
  const std::lock_guard lock(mutex_);
  return submission(queue, index) != nullptr;
}

StreamOrder::Ptr QueueOrder::commandOf(uint64_t queue, uint64_t index) {
  const std::lock_guard lock(mutex_);
  const Submission *found = submission(queue, index);
  return found ? found->command : nullptr;
}

/// What is known when a signal is seen. A copy is done by an engine: what it waited for is what its
/// signal says.
void QueueOrder::learn(QueueTimes &who, uint64_t signal, unsigned depth) const {
  constexpr unsigned deepest = 64;
  if (const auto at = left_.find(signal); at != left_.end()) who.join(at->second);
  const auto copy = copies_.find(signal);
  if (copy == copies_.end() || depth == deepest) return;
  who.join(copy->second.host);
  for (const uint64_t waited : copy->second.waited) learn(who, waited, depth + 1);
}

void QueueOrder::hostSaw(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  learn(host_, signal);
}

void QueueOrder::hostSet(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  left_[signal].join(host_);
  bound();
}

void QueueOrder::copies(std::span<const uint64_t> waited, uint64_t completion) {
  if (!completion) return;
  const std::lock_guard lock(mutex_);
  // What the signal stood for before is over: it is in use again.
  Copy copy{{waited.begin(), waited.end()}, host_};
  std::erase(copy.waited, completion);
  copies_[completion] = std::move(copy);
  bound();
}

void QueueOrder::bound() {
  if (left_.size() + copies_.size() <= kMostSignals) return;
  for (const auto &[signal, times] : left_) all_.join(times);
  for (const auto &[signal, copy] : copies_) all_.join(copy.host);
  for (const auto &[queue, times] : queues_) all_.join(times);
  left_.clear();
  copies_.clear();
}

void QueueOrder::forgetSignal(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  // Copies that waited for it still pass on what it stood for.
  for (auto &[completion, copy] : copies_)
    if (std::erase(copy.waited, signal)) learn(copy.host, signal);
  left_.erase(signal);
  copies_.erase(signal);
}

void QueueOrder::forgetQueue(uint64_t queue) {
  const std::lock_guard lock(mutex_);
  queues_.erase(queue);
  submitted_.erase(queue);
  all_.forget(queue);
  host_.forget(queue);
  for (auto &[other, times] : queues_) times.forget(queue);
  for (auto &[signal, times] : left_) times.forget(queue);
  for (auto &[signal, copy] : copies_) copy.host.forget(queue);
}

QueueTimes &QueueOrder::arrive(uint64_t queue, uint64_t index) {
  QueueTimes &known = queues_[queue];
  known.raise(queue, index);
  known.join(all_);
  auto &waiting = submitted_[queue];
  // The first submission that reaches this packet is the one that it came with.
  while (waiting.size() > 1 && waiting.front().index < index) waiting.pop_front();
  known.join(waiting.empty() || waiting.front().index < index ? host_ : waiting.front().host);
  return known;
}

QueueTimes QueueOrder::begins(uint64_t queue, uint64_t index) {
  const std::lock_guard lock(mutex_);
  return arrive(queue, index);
}

void QueueOrder::writesValue(uint64_t queue, uint64_t index, uint64_t address) {
  const std::lock_guard lock(mutex_);
  left_[address].join(arrive(queue, index)); // a place in memory is as good as a signal
  bound();
}

void QueueOrder::waitsForValue(uint64_t queue, uint64_t index, uint64_t address) {
  const std::lock_guard lock(mutex_);
  learn(arrive(queue, index), address);
}

void QueueOrder::packetEnds(const ObservedPacket &packet) {
  const std::lock_guard lock(mutex_);
  QueueTimes &known = arrive(packet.queue_address, packet.index);
  for (uint32_t i = 0; i < packet.waited_count; ++i)
    if (packet.waited[i]) learn(known, packet.waited[i]);
  known.raise(packet.queue_address, packet.index + 1);
  if (!packet.completion_signal) return;
  left_[packet.completion_signal].join(known);
  copies_.erase(packet.completion_signal);
  bound();
}

} // namespace fade::checks
