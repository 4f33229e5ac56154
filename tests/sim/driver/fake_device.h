// A device for packet processors: some memory, and an executor that does what the test says.
#pragma once

#include "device/aql_processor.h"
#include "device/hsa_abi.h"
#include "device/packet_processor.h"

#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

namespace fade::sim {

class FakeDevice : public QueueHost {
public:
  // GPU addresses differ from host addresses, so that a forgotten translation is seen.
  static constexpr uint64_t base = 0x100000000, bytes = 1 << 20;

  FakeDevice() : storage_(bytes / 8) { space_.map(base, bytes, storage_.data()); }

  const AddressSpace &memory() const override { return space_; }
  AddressSpace &space() { return space_; }
  const Arch &arch() const override { return fade::sim::arch(Gfx::gfx90a); }
  DispatchResult run(const Dispatch &d) override {
    std::lock_guard lock(mutex);
    dispatches.push_back(d);
    return on_run ? on_run(d) : DispatchResult{};
  }
  void set_event(uint32_t id) override {
    std::lock_guard lock(mutex);
    events.push_back(id);
  }
  void memory_fault(uint64_t address, bool write) override { faults.push_back({address, write}); }
  void reset(bool) override {}
  static const char *name(Reach reach) {
    return reach == Reach::system ? "system " : reach == Reach::device ? "device " : "none ";
  }
  void acquire(Reach reach) override { add_fence("acquire-", reach); }
  void release(Reach reach) override {
    if (on_release) on_release();
    add_fence("release-", reach);
  }
  std::string kernel_name(uint64_t) override { return "kernel"; }

  template <class T> T &at(uint64_t va) { return *space_.at<T>(va); }

  struct Fault {
    uint64_t address;
    bool write;
    bool operator==(const Fault &) const = default;
  };
  std::mutex mutex;
  std::function<DispatchResult(const Dispatch &)> on_run;
  std::function<void()> on_release;
  std::string fences;
  std::vector<Dispatch> dispatches;
  std::vector<uint32_t> events;
  std::vector<Fault> faults;

private:
  void add_fence(const char *kind, Reach reach) {
    std::lock_guard lock(fences_mutex_); // dispatches may run at once
    fences += std::string(kind) + name(reach);
  }

  std::mutex fences_mutex_;
  std::vector<uint64_t> storage_;
  AddressSpace space_;
};

// An AQL queue in the fake device's memory, as a runtime lays it out.
class FakeAqlQueue {
public:
  static constexpr uint64_t ring = FakeDevice::base, slots = 16;
  static constexpr uint64_t queue = FakeDevice::base + 0x10000,
                            inactive_signal = FakeDevice::base + 0x20000;
  static constexpr uint64_t mailbox = FakeDevice::base + 0x30000;

  explicit FakeAqlQueue(FakeDevice &device) : device_(device) {
    for (uint64_t i = 0; i < slots; ++i)
      device.at<uint16_t>(ring + i * hsa::packet_size) = hsa::packet_invalid;
    device.at<uint64_t>(queue + hsa::queue_inactive_signal) = inactive_signal;
    profile(true);
    auto &signal = device.at<hsa::Signal>(inactive_signal);
    signal.event_mailbox = mailbox;
    signal.event_id = 77;
  }

  QueueSpec spec() {
    QueueSpec s;
    s.id = 3;
    s.ring = ring;
    s.ring_bytes = slots * hsa::packet_size;
    s.read_pointer = queue + hsa::queue_read_dispatch_id;
    s.doorbell = &doorbell;
    return s;
  }

  // As a runtime asks for times of dispatches.
  void profile(bool wanted) {
    device_.at<uint32_t>(queue + hsa::queue_properties) = wanted ? hsa::queue_is_profiled : 0;
  }
  uint64_t read_index() { return device_.at<uint64_t>(queue + hsa::queue_read_dispatch_id); }
  int64_t error() { return device_.at<hsa::Signal>(inactive_signal).value; }

  // Writes the packet as a producer does: body first, header last, then the doorbell.
  template <class Packet> void submit(Packet packet) {
    write(packet, next_);
    ring_bell(next_++);
  }
  template <class Packet> void write(Packet packet, uint64_t index) {
    auto *slot = &device_.at<Packet>(ring + index % slots * hsa::packet_size);
    uint16_t header = packet.header;
    packet.header = hsa::packet_invalid;
    std::memcpy(static_cast<void *>(slot), &packet, sizeof packet);
    __atomic_store_n(&slot->header, header, __ATOMIC_RELEASE);
  }
  void ring_bell(uint64_t value) { doorbell = value; }

  volatile uint64_t doorbell = doorbell_unrung;

private:
  FakeDevice &device_;
  uint64_t next_ = 0;
};

inline hsa::KernelDispatch a_dispatch() {
  hsa::KernelDispatch p{};
  p.header = hsa::packet_kernel_dispatch;
  p.setup = 1;
  p.workgroup_size[0] = 64, p.workgroup_size[1] = p.workgroup_size[2] = 1;
  p.grid_size[0] = 128, p.grid_size[1] = p.grid_size[2] = 1;
  p.kernel_object = 0x1000;
  p.kernarg_address = 0x2000;
  return p;
}

} // namespace fade::sim
