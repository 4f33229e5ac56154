// The copy engine: SDMA packets of one queue, in order.
#pragma once

#include "device/packet_processor.h"

#include <atomic>
#include <string>

namespace fade::sim {

class SdmaProcessor : public PacketProcessor {
public:
  /// gfx12's packets of rectangles have wider fields.
  SdmaProcessor(QueueHost &host, const QueueSpec &spec, bool is_gfx12 = false);

  bool valid() const { return ring_.load() && read_index_; }
  Step step() override;
  bool has_work() const override;
  bool set_ring(uint64_t address, uint64_t size) override;

private:
  // What a packet did: its length in dwords, 0 when it must be tried again.
  struct Outcome {
    Step step = Step::progressed;
    uint32_t dwords = 0;
  };

  uint32_t dword(uint32_t i) const;
  uint64_t address(uint32_t i) const { return dword(i) | uint64_t{dword(i + 1)} << 32; }

  Outcome execute();
  Outcome copy_linear();
  Outcome copy_rect();
  Outcome write_linear();
  Outcome fence();
  Outcome trap();
  Outcome poll();
  Outcome atomic();
  Outcome fill();
  Outcome timestamp();
  Outcome unknown();

  bool copy(uint64_t to, uint64_t from, uint64_t bytes);
  template <class T> T *target(uint64_t va); // of a write; null after a fault
  void fault(uint64_t va, bool write);

  QueueHost &host_;
  const AddressSpace &memory_;
  uint32_t id_;
  bool is_gfx12_;
  uint64_t *read_index_;
  volatile uint64_t *doorbell_;
  uint64_t ring_va_ = 0;
  std::atomic<std::byte *> ring_{nullptr};
  std::atomic<uint64_t> ring_dwords_{0};
  std::atomic<uint64_t> position_{0}; // bytes consumed since the queue was made
  std::atomic<bool> halted_{false};
};

} // namespace fade::sim
