#include "checks/wait_check.h"

#include <algorithm>

namespace fade::checks {

/// Whether it returns in order with all others in its queue that do.
bool WaitCheck::isInOrder(Number number) const {
  const WaitCounter counter = load(number).counter;
  return counter != WaitCounter::scalar && (counter != WaitCounter::flat || flat_in_order_);
}

void WaitCheck::begin(std::string_view gpu) {
  flat_in_order_ = gpu.starts_with("gfx1");
  lds_apart_ = gpu.starts_with("gfx12");
  loads_.clear();
  first_ = 1;
  for (auto &queue : queues_) queue.clear();
  pending_.fill(0);
  pending_count_ = 0;
}

/// The first register of a range that a load still writes; 0 if there is none.
WaitCheck::Number WaitCheck::pendingIn(const ObservedRange &range, unsigned &at) const {
  for (unsigned i = 0; i < range.count; ++i) {
    const std::size_t s = slot(range.vector, range.first + i);
    if (s >= pending_.size() || !pending_[s]) continue;
    at = range.first + i;
    return pending_[s];
  }
  return 0;
}

/// Loads that return in order may write to the same register one after the other.
bool WaitCheck::isSafe(const ObservedInstruction &instruction, Number number) const {
  const WaitCounter before = loads_[number - first_].counter;
  return before == instruction.counter &&
         (before == WaitCounter::vector || before == WaitCounter::lds);
}

void WaitCheck::registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                          Reporter &reporter) {
  if (pending_count_) {
    unsigned at = 0;
    for (uint32_t i = 0; i < instruction.reads_count; ++i) {
      const ObservedRange &range = instruction.reads[i];
      const Number number = pendingIn(range, at);
      if (!number) continue;
      // A load of half a register has its destination as a source, too.
      const bool is_own = std::any_of(
          instruction.writes, instruction.writes + instruction.writes_count,
          [&](const ObservedRange &w) {
            return w.vector == range.vector && w.first == range.first && w.count == range.count;
          });
      if (is_own && isSafe(instruction, number)) continue;
      report(wave, instruction, number, range, at, true, reporter);
    }
    for (uint32_t i = 0; i < instruction.writes_count; ++i) {
      const Number number = pendingIn(instruction.writes[i], at);
      if (number && !isSafe(instruction, number))
        report(wave, instruction, number, instruction.writes[i], at, false, reporter);
    }
  }
  if (instruction.counter != WaitCounter::none) issue(instruction);
}

void WaitCheck::issue(const ObservedInstruction &instruction) {
  const Number number = first_ + static_cast<Number>(loads_.size());
  Load one{instruction.pc, instruction.counter, {}, 1};
  one.writes.assign(instruction.writes, instruction.writes + instruction.writes_count);
  const auto in = [&](Queue queue) {
    auto &waiting = queues_[static_cast<std::size_t>(queue)];
    waiting.push_back(number);
  };
  switch (instruction.counter) {
  case WaitCounter::vector: in(Queue::vector); break;
  case WaitCounter::stores: in(Queue::stores); break;
  case WaitCounter::lds: in(ldsQueue()); break;
  case WaitCounter::scalar: in(Queue::scalar); break;
  case WaitCounter::flat: in(Queue::vector), in(ldsQueue()), one.counters = 2; break;
  case WaitCounter::none: return;
  }
  for (const ObservedRange &range : one.writes)
    for (unsigned i = 0; i < range.count; ++i)
      if (const std::size_t s = slot(range.vector, range.first + i); s < pending_.size()) {
        pending_count_ += pending_[s] == 0;
        pending_[s] = number;
      }
  loads_.push_back(std::move(one));
  // Counters end somewhere; then hardware waits by itself.
  constexpr std::size_t most = 64;
  for (auto &queue : queues_)
    if (queue.size() > most) {
      const Number oldest = queue.front();
      queue.pop_front();
      if (--load(oldest).counters == 0) finish(oldest);
    }
}

void WaitCheck::finish(Number number) {
  for (const ObservedRange &range : load(number).writes)
    for (unsigned i = 0; i < range.count; ++i)
      if (const std::size_t s = slot(range.vector, range.first + i);
          s < pending_.size() && pending_[s] == number)
        pending_[s] = 0, --pending_count_;
  while (!loads_.empty() && loads_.front().counters == 0) loads_.pop_front(), ++first_;
}

void WaitCheck::retire(Queue which, uint32_t left) {
  auto &queue = queues_[static_cast<std::size_t>(which)];
  if (left && !std::ranges::all_of(queue, [&](Number n) { return isInOrder(n); })) return;
  while (queue.size() > left) {
    const Number number = queue.front();
    queue.pop_front();
    if (--load(number).counters == 0) finish(number);
  }
}

void WaitCheck::wait(const ObservedWait &wait) {
  if (wait.vector != ObservedWait::any) retire(Queue::vector, wait.vector);
  if (wait.stores != ObservedWait::any) retire(Queue::stores, wait.stores);
  if (wait.scalar != ObservedWait::any) retire(Queue::scalar, wait.scalar);
  if (wait.lds != ObservedWait::any) retire(Queue::lds, wait.lds);
}

void WaitCheck::report(const ObservedWave &wave, const ObservedInstruction &instruction,
                       Number number, const ObservedRange &range, unsigned at, bool reads,
                       Reporter &reporter) {
  const Load &one = load(number);
  Finding f = reporter.begin(Check::wait, Problem::unwaited);
  f.place =
      reporter.place(wave, 0, instruction.pc, reads ? AccessKind::load : AccessKind::store, 4);
  f.other = reporter.place(wave, 0, one.pc, AccessKind::load, 4);
  f.space = range.vector ? 1 : 0;
  f.address = at;
  f.waves = static_cast<uint32_t>(one.counter) | (lds_apart_ ? kCountersApart : 0);
  // How many may be left when this one is done.
  const Queue which = one.counter == WaitCounter::vector ? Queue::vector
                      : one.counter == WaitCounter::lds  ? ldsQueue()
                                                         : Queue::scalar;
  const auto &queue = queues_[static_cast<std::size_t>(which)];
  const bool in_order = one.counter != WaitCounter::flat &&
                        std::ranges::all_of(queue, [&](Number n) { return isInOrder(n); });
  const auto position = std::ranges::find(queue, number);
  f.limit = in_order ? static_cast<uint64_t>(queue.end() - position) - 1 : 0;
  reporter.report(f);
}

} // namespace fade::checks
