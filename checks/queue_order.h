// Which packets of the queues come after which others, whatever the timing: within a queue, through
// signals (barriers, copies), and through the host, which waits for one and then submits another.
#pragma once

#include "checks/stream_memory.h"
#include "checks/stream_order.h"

#include <fade/observer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace fade::checks {

/// How many packets of each queue are known to be done.
class QueueTimes {
public:
  uint64_t done(uint64_t queue) const {
    const auto at = times_.find(queue);
    return at == times_.end() ? 0 : at->second;
  }
  void raise(uint64_t queue, uint64_t done) {
    uint64_t &time = times_[queue];
    time = time > done ? time : done;
  }
  void join(const QueueTimes &other) {
    for (const auto &[queue, done] : other.times_) raise(queue, done);
  }
  void forget(uint64_t queue) { times_.erase(queue); }

private:
  std::map<uint64_t, uint64_t> times_;
};

class QueueOrder {
public:
  static QueueOrder &instance();

  void addQueue() { ++queues_made_; }
  /// Otherwise nothing can overlap.
  bool hasSeveralQueues() const { return queues_made_ > 1; }

  /// The host has submitted the packets of a queue up to `index`.
  void submitted(uint64_t queue, uint64_t index, const HostTime &when = {},
                 StreamOrder::Ptr command = nullptr);
  /// When a dispatch that has begun was submitted, if that is known.
  HostTime submittedAt(uint64_t queue, uint64_t index);
  /// Whether the doorbell has rung for a packet.
  bool isSubmitted(uint64_t queue, uint64_t index);
  /// The call of HIP that a dispatch that has begun came with; null if that is not known.
  StreamOrder::Ptr commandOf(uint64_t queue, uint64_t index);
  /// The host has seen that a signal's value is what it waited for.
  void hostSaw(uint64_t signal);
  /// The host has set a signal.
  void hostSet(uint64_t signal);
  /// The host has submitted a copy.
  void copies(std::span<const uint64_t> waited, uint64_t completion);

  /// A dispatch begins: what is done before it.
  QueueTimes begins(uint64_t queue, uint64_t index);
  void packetEnds(const ObservedPacket &packet);

  /// hipStreamWriteValue and hipStreamWaitValue are dispatches of the runtime's own: one writes to
  /// memory when all before it is done, and what comes behind the other has seen that.
  void writesValue(uint64_t queue, uint64_t index, uint64_t address);
  void waitsForValue(uint64_t queue, uint64_t index, uint64_t address);

  /// They are gone; something else may have their addresses from now on.
  void forgetSignal(uint64_t signal);
  void forgetQueue(uint64_t queue);

  /// Signals that are remembered. Beyond that, everything so far counts as done: a race may be
  /// missed, but nobody is accused.
  static constexpr std::size_t kMostSignals = 1 << 15;

private:
  struct Submission {
    uint64_t index;
    QueueTimes host;
    HostTime when;
    StreamOrder::Ptr command;
  };
  struct Copy {
    std::vector<uint64_t> waited;
    QueueTimes host;
  };
  const Submission *submission(uint64_t queue, uint64_t index) const;
  void bound();
  void learn(QueueTimes &who, uint64_t signal, unsigned depth = 0) const;
  QueueTimes &arrive(uint64_t queue, uint64_t index);

  std::atomic<unsigned> queues_made_{0};
  std::mutex mutex_;
  QueueTimes all_;                                       ///< what counts as done for everybody
  QueueTimes host_;                                      ///< what the host has waited for
  std::map<uint64_t, QueueTimes> queues_;                ///< what each of them has
  std::map<uint64_t, std::deque<Submission>> submitted_; ///< not yet begun
  std::map<uint64_t, QueueTimes> left_; ///< by signal: what was done when it was set
  std::map<uint64_t, Copy> copies_;     ///< by completion signal
};

} // namespace fade::checks
