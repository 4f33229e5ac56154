// One GPU: its memory, what it can see of it, and its queues.
#pragma once

#include "base/address_space.h"
#include "device/backing_store.h"
#include "device/kernel_names.h"
#include "device/observer_library.h"
#include "device/packet_processor.h"
#include "device/queue_runner.h"
#include "device/stats_log.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace fade::sim {

// Interrupts from the GPU to the driver. Called on device threads.
struct Interrupts {
  std::function<void(uint32_t event_id)> event;
  std::function<void(uint64_t address, bool write)> memory_fault;
  std::function<void(bool is_ecc_error)> reset;
};

class Gpu : public QueueHost {
public:
  enum class QueueKind : uint8_t { aql, sdma };

  // Does not run anything before the first queue exists; LLVM is not touched before the first
  // dispatch.
  Gpu(const Arch &arch, const std::string &name, uint64_t address_space_bytes,
      DoorbellPoller &poller, StatsLog *stats, Interrupts interrupts);
  ~Gpu() override;

  BackingStore &store() { return store_; }
  AddressSpace &address_space() { return memory_; }

  // False when the addresses in `spec` are not mapped.
  bool create_queue(QueueKind kind, const QueueSpec &spec);
  // Waits for the packet that runs, and takes it off the device when it does not end. False when
  // there is no such queue.
  bool destroy_queue(uint32_t id);
  // `active` false suspends the queue. False when there is no such queue or the ring is not mapped.
  bool update_queue(uint32_t id, uint64_t ring, uint64_t ring_bytes, bool active);

  const AddressSpace &memory() const override { return memory_; }
  const Arch &arch() const override { return arch_; }
  DispatchResult run(const Dispatch &dispatch) override;
  void set_event(uint32_t event_id) override { interrupts_.event(event_id); }
  void memory_fault(uint64_t address, bool write) override {
    interrupts_.memory_fault(address, write);
  }
  void reset(bool is_ecc_error) override { interrupts_.reset(is_ecc_error); }
  void acquire(Reach reach) override {
    if (caches_) caches_->acquire(reach);
  }
  void release(Reach reach) override {
    if (caches_) caches_->release(reach);
  }
  std::string kernel_name(uint64_t kernel_object) override { return names_.find(kernel_object); }
  void written(uint64_t address, uint64_t size) override {
    if (Observer *o = observer()) o->memoryWritten(address, size);
  }
  void packet_ended(const ObservedPacket &packet) override {
    if (Observer *o = observer()) o->packetEnds(packet);
  }

  // Of the card, or of its partition; before the first dispatch.
  void set_compute_units(uint32_t count) { compute_units_ = count; }

private:
  Executor &executor();
  Observer *observer(); // null for most

  const Arch &arch_;
  uint32_t compute_units_ = 0; // 0: as the architecture's card has
  DoorbellPoller &poller_;
  StatsLog *stats_;
  Interrupts interrupts_;
  BackingStore store_;
  std::unique_ptr<Caches> caches_; // null: memory is coherent
  AddressSpace memory_;
  KernelNames names_;
  MemoryForObservers observed_memory_{memory_};
  std::once_flag observer_once_, executor_once_;
  Observer *observer_ = nullptr;
  std::unique_ptr<Executor> executor_;
  std::mutex queues_mutex_;
  struct Queue {
    std::unique_ptr<QueueRunner> runner;
    uint64_t address; // of its amd_queue_t
  };
  std::map<uint32_t, Queue> queues_;
};

} // namespace fade::sim
