// A copy between memories that is recorded as a host event, with its times, and that captures know
// of.
#pragma once

#include "fade/host_events.h"
#include "hsa/agents.h"
#include "hsa/copy_teller.h"
#include "hsa/signal_pool.h"

#include <atomic>
#include <cstdint>
#include <optional>

namespace fade {

class CaptureSession;
class Runtime;

/// What the recording of copies needs. All of it outlives every copy.
struct CopyServices {
  const Agents &agents;
  SignalPool &signals;
  CopyTeller &teller;
  CaptureSession *captures; ///< null: nothing is captured

  static CopyServices of(Runtime &runtime);
};

/// What is copied, and by whom.
struct CopyPlaces {
  const void *to = nullptr, *from = nullptr;
  uint64_t bytes = 0;
  hsa_agent_t agent{}; ///< that copies
  events::Direction direction = events::Direction::none;
  std::optional<uint32_t> engine;
};

/// The places of a copy that names the agents of both sides.
CopyPlaces placesOf(const Agents &agents, const void *to, hsa_agent_t to_agent, const void *from,
                    hsa_agent_t from_agent, uint64_t bytes);

/// Has a completion signal of its own, and does to the application's what the GPU does to that.
/// Deletes itself.
class TimedCopy {
public:
  /// Null if nobody wants to know of it, or if there is no signal to be had. `count`: so many
  /// copies that are one operation; the engine counts the signal down for each.
  static TimedCopy *begin(const CopyServices &services, const CopyPlaces &places,
                          hsa_signal_t completion, uint32_t count = 1);

  /// For the runtime, instead of the application's.
  hsa_signal_t signal() const { return signal_; }
  /// An engine gets it now, unless a capture keeps it from that: then what it has to wait for.
  hsa_signal_t goesToEngine();
  /// An engine gets it, whatever is captured.
  void isWithEngine();
  /// Without success nothing happens to the application's signal.
  void started(bool success);
  /// If it has ended, tells the application so, whoever else should have done that.
  void tellApplication() noexcept;

private:
  TimedCopy(const CopyServices &services, hsa_signal_t application, uint32_t count)
      : services_(services), application_(application), count_(count) {}
  static bool onEnd(hsa_signal_value_t value, void *copy);
  void end(hsa_signal_value_t value);
  void completeTheirs(hsa_signal_value_t value) noexcept;

  const CopyServices services_;
  const hsa_signal_t application_;
  const uint32_t count_;
  hsa_signal_t signal_{};
  bool is_recorded_ = false;
  std::atomic<bool> is_under_way_{false}; ///< captures were told
  uint64_t operation_ = 0;
  std::atomic<bool> is_refused_{false};
  std::atomic<bool> is_told_{false};
};

} // namespace fade
