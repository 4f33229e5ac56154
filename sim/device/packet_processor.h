// What a queue of packets needs from its device, and what drives it.
#pragma once

#include "exec/executor.h"
#include "wave/caches.h"

#include <fade/observer.h>

#include <cstdint>
#include <string>

namespace fade::sim {

// The device as its queues see it.
class QueueHost {
public:
  virtual ~QueueHost() = default;
  virtual const AddressSpace &memory() const = 0;
  virtual const Arch &arch() const = 0;
  virtual DispatchResult run(const Dispatch &dispatch) = 0;
  virtual void set_event(uint32_t event_id) = 0;
  // An access that the GPU's page tables do not allow; the host is told as by the interrupt of a
  // real one.
  virtual void memory_fault(uint64_t address, bool write) = 0;
  // The driver has to reset the GPU: a dispatch hangs, or memory has an error.
  virtual void reset(bool is_ecc_error) = 0;
  // Symbol of a kernel, or its address when no symbol is known.
  virtual std::string kernel_name(uint64_t kernel_object) = 0;
  // Fences of packets and of copy engines, for the caches: what others have written is seen, what
  // kernels have written can be seen by others.
  virtual void acquire(Reach /*reach*/) {}
  virtual void release(Reach /*reach*/) {}
  // A copy engine has written there.
  virtual void written(uint64_t /*address*/, uint64_t /*size*/) {}
  // A packet is done; its signal says so only after this.
  virtual void packet_ended(const ObservedPacket &) {}
};

// Consumes one queue. Knows nothing of threads: whoever owns it calls step() from one thread at a
// time.
class PacketProcessor {
public:
  enum class Step : uint8_t {
    progressed,
    idle,    // nothing submitted
    waiting, // the packet at the head waits for a signal or for memory
    halted,  // an error stopped the queue for good
  };

  virtual ~PacketProcessor() = default;
  virtual Step step() = 0;
  // Whether step() would find a packet; may be called from any thread.
  virtual bool has_work() const = 0;
  // Changes the ring (UPDATE_QUEUE). False when the addresses are not mapped.
  virtual bool set_ring(uint64_t address, uint64_t size) = 0;
};

// What CREATE_QUEUE says; all addresses are GPU virtual.
struct QueueSpec {
  uint32_t id = 0;
  uint64_t ring = 0, ring_bytes = 0;
  uint64_t read_pointer = 0, write_pointer = 0;
  volatile uint64_t *doorbell = nullptr; // host pointer, preset to doorbell_unrung
};
constexpr uint64_t doorbell_unrung = ~uint64_t{0};

} // namespace fade::sim
