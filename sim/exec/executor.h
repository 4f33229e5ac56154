// Runs kernel dispatches on worker threads. This is all that the driver side needs to know about
// execution.
#pragma once

#include "base/address_space.h"
#include "exec/jit.h"
#include "isa/arch.h"
#include "wave/stats.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace fade {
class Observer;
}

namespace fade::sim {

class Caches;

// A kernel dispatch, as an AQL packet describes it.
struct Dispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};      // work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1}; // work-items
  uint32_t private_segment_size = 0;          // bytes per work-item
  uint32_t group_segment_size = 0;            // LDS bytes per workgroup
  uint64_t kernel_object = 0;                 // address of the kernel descriptor
  uint64_t kernarg_address = 0;
  uint64_t packet_address = 0; // where the kernel finds its AQL packet (dispatch_ptr)
  uint64_t queue_address = 0;  // where it finds its amd_queue_t (queue_ptr)
  uint64_t dispatch_id = 0;
};

struct DispatchResult {
  enum class Status : uint8_t {
    ok,
    memory_fault,        // fault_address, fault_write
    memory_violation,    // an address that the instruction cannot have
    illegal_instruction, // unknown to the software GPU or to the architecture
    trap,                // s_trap 2: the program aborted itself
    bad_dispatch,        // the packet or the kernel descriptor makes no sense
    out_of_resources,    // the host has no memory or no thread for it
    stopped,             // Executor::stop
  };
  Status status = Status::ok;
  uint64_t fault_address = 0;
  bool fault_write = false;
  uint64_t pc = 0;     // of the instruction that stopped it; 0: it was none
  std::string message; // one line for people, empty when ok
  DispatchStats stats;
};

class Executor {
public:
  struct Hooks {
    std::function<void(uint32_t event_id)> interrupt;         // s_sendmsg MSG_INTERRUPT
    std::function<std::string(uint64_t address)> kernel_name; // for messages; may be empty
    // Starts a worker's thread; empty for std::thread. Throws std::system_error when it cannot.
    std::function<std::thread(std::function<void()> body)> start_thread;
    Caches *caches = nullptr; // null: memory is coherent
    JitUse jit = jit_use();
  };

  // workers == 0: one per core, or FADE_GPU_WORKERS.
  Executor(const Arch &arch, const AddressSpace &memory, Hooks hooks, unsigned workers = 0);
  ~Executor();

  // Runs a dispatch to its end and returns; throws nothing. May be called from several threads at
  // once: their workgroups share the workers fairly, so that a kernel may wait for another queue's
  // kernel or for the host.
  DispatchResult run(const Dispatch &dispatch);

  // Sets the device's global wave sync for so many that meet, as ds_gws_init does.
  void init_global_sync(uint32_t count);

  // The card, or its partition, has so many compute units. How many workgroups are resident at
  // once follows from that where the software GPU behaves like a card (FADE_GPU_RESIDENT).
  void set_compute_units(uint32_t count);

  // Makes running dispatches end early with Status::stopped: all, or those of one queue.
  void stop();
  void stop(uint64_t queue_address);

  // Sees the dispatches that begin from now on; null for none. It must live until they have ended.
  void observe(Observer *observer);

  unsigned workers() const; // as asked for; there are fewer when the host has no more threads

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fade::sim
