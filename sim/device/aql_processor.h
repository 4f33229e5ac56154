// The command processor: AQL packets of one user queue, in order.
#pragma once

#include "device/hsa_abi.h"
#include "device/packet_processor.h"

#include <atomic>

namespace fade::sim {

class StatsLog;

class AqlProcessor : public PacketProcessor {
public:
  // `stats` may be null.
  AqlProcessor(QueueHost &host, const QueueSpec &spec, StatsLog *stats);

  // False when ring or read pointer are not mapped; step() must not be called then.
  bool valid() const { return ring_.load() && read_index_; }
  Step step() override;
  bool has_work() const override;
  bool set_ring(uint64_t address, uint64_t size) override;

private:
  using Packet = hsa::KernelDispatch; // all kinds share header and completion signal

  Packet *packet_at(uint64_t index) const;
  Step dispatch(const Packet &packet, uint64_t index);
  Step barrier(const hsa::Barrier &packet, uint64_t index);
  Step vendor(const Packet &packet, uint64_t index);
  Step barrier_value(const hsa::BarrierValue &packet, uint64_t index);
  Step pm4(const hsa::Pm4Ib &packet, uint64_t index);
  // Ends a packet: signals, and frees its slot, unless that is done later.
  Step complete(Packet &packet, uint64_t index, uint64_t start, bool frees_slot = true);
  void free_slot(Packet &packet, uint64_t index);
  // FADE_GPU_OVERLAP: dispatches from `index` on that need not wait for each other, and running
  // them at the same time.
  unsigned neighbours(uint64_t index) const;
  Step run_together(uint64_t first, unsigned count);
  bool is_profiled() const;
  void tell_end(const Packet &packet, uint64_t index);

  // Stops the queue: through the memory-fault event, or with an error code for the runtime.
  Step fault(uint64_t address, bool write, const char *what);
  Step fail(int64_t code, const std::string &message);
  // What FADE_GPU_FAIL wants to happen instead of a dispatch; nothing if it is to run.
  std::optional<Step> fail_on_purpose(const Packet &packet);
  Step reset(const std::string &message, bool is_ecc_error);
  std::optional<int64_t> signal_value(uint64_t handle) const;

  QueueHost &host_;
  const AddressSpace &memory_;
  StatsLog *stats_;
  uint32_t id_;
  uint64_t read_pointer_;
  uint64_t *read_index_;
  volatile uint64_t *doorbell_;
  uint64_t ring_va_ = 0;
  std::atomic<std::byte *> ring_{nullptr};
  std::atomic<uint64_t> slots_{0};
  std::atomic<bool> halted_{false};
  std::atomic<bool> hangs_{false}; // on purpose
  const bool overlaps_;
};

} // namespace fade::sim
