// KFD events: what host threads sleep on until the GPU interrupts.
//
// Several threads may wait for one event that resets itself, and all of them must wake up. So an
// event counts how often it was set (its age), and a waiter is served when the age moved since that
// waiter looked last: the age that the caller hands in (interface 1.14 and later), or one
// remembered per thread. A waiter may wake up for nothing; runtimes look at the signal again
// anyway. No wake-up is ever lost.
#pragma once

#include "kfd/kfd_abi.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace fade::sim::kfd {

class Events {
public:
  // Slots of the page that the runtime shares with the GPU.
  static constexpr uint32_t limit = 4096;

  // Id of a new event; none when there are too many.
  std::optional<uint32_t> create(uint32_t type, bool auto_reset);
  bool destroy(uint32_t id);
  bool set(uint32_t id);
  bool reset(uint32_t id);

  // Sets every event for memory exceptions, with what happened.
  void raise_memory_exception(const kfd_hsa_memory_exception_data &data);

  // What amdgpu tells when it resets a GPU: hardware exceptions always, and memory exceptions if
  // an error of its memory is the cause.
  void raise_reset(uint32_t gpu_id, bool is_ecc_error);

  // WAIT_EVENTS. Returns 0 or an errno.
  int wait(kfd_ioctl_wait_events_args &args);

private:
  struct Event {
    uint32_t type;
    bool auto_reset;
    bool signaled = false;
    uint64_t serial = 0; // ids are reused, this is not
    uint64_t age = 1;    // grows with every set; runtimes take it for granted that it starts at 1
    uint64_t quiet_age = 1; // age when made or last reset: nothing to report up to here
    kfd_hsa_memory_exception_data memory{};
    kfd_hsa_hw_exception_data hardware{};
  };
  bool ready(const Event &event, const EventData &data) const;
  void report(Event &event, EventData &data);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, Event> events_;
};

} // namespace fade::sim::kfd
