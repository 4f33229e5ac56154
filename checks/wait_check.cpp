#include "checks/wait_check.h"

#include <algorithm>
#include <bit>

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
  issued_ = 0;
  loads_to_lds_ = 0;
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

/// How many may be left in its counter when a load is done.
uint64_t WaitCheck::stillLeft(Number number) const {
  const WaitCounter counter = load(number).counter;
  const Queue which = counter == WaitCounter::vector ? Queue::vector
                      : counter == WaitCounter::lds  ? ldsQueue()
                                                     : Queue::scalar;
  const auto &queue = queues_[static_cast<std::size_t>(which)];
  const bool in_order = counter != WaitCounter::flat &&
                        std::ranges::all_of(queue, [&](Number n) { return isInOrder(n); });
  const auto position = std::ranges::find(queue, number);
  return in_order ? static_cast<uint64_t>(queue.end() - position) - 1 : 0;
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
  issued_ = 0;
  if (instruction.counter != WaitCounter::none) issue(instruction);
}

/// Loads to LDS are counted with other loads; no other access to LDS is.
bool WaitCheck::loadsToLds(const ObservedAccess &access) {
  if (!issued_ || access.kind != AccessKind::store || load(issued_).counter != WaitCounter::vector)
    return false;
  std::vector<Bytes> &bytes = load(issued_).lds;
  loads_to_lds_ += bytes.empty() && access.lanes;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const uint64_t first = access.address[std::countr_zero(lanes)];
    if (!bytes.empty() && bytes.back().end == first)
      bytes.back().end += access.size;
    else
      bytes.push_back({first, first + access.size});
  }
  return true;
}

void WaitCheck::usesLds(const ObservedWave &wave, const ObservedAccess &access,
                        Reporter &reporter) {
  if (!loads_to_lds_) return;
  for (Number number = first_; number - first_ < loads_.size(); ++number) {
    const Load &one = load(number);
    if (!one.counters) continue;
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t first = access.address[lane], end = first + access.size;
      const auto written = std::ranges::find_if(
          one.lds, [&](const Bytes &b) { return b.first < end && first < b.end; });
      if (written == one.lds.end()) continue;
      Finding f = reporter.begin(Check::wait, Problem::unwaited);
      f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
      f.other = reporter.place(wave, lane, one.pc, AccessKind::load, access.size);
      f.space = kUnwaitedLds;
      f.address = std::max(first, written->first);
      f.waves = static_cast<uint32_t>(one.counter) | (lds_apart_ ? kCountersApart : 0);
      f.limit = stillLeft(number);
      reporter.report(f);
      return;
    }
  }
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
  issued_ = number;
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
  loads_to_lds_ -= !load(number).lds.empty();
  if (issued_ == number) issued_ = 0;
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
  f.limit = stillLeft(number);
  reporter.report(f);
}

} // namespace fade::checks
