// Where waves write their records: into host memory, where the drain reads them at once, or into
// device memory, from where they are copied.
#pragma once

#include "hsa/agents.h"
#include "hsa/async_copy.h"
#include "hsa/own_memory.h"

#include <memory>

namespace fade {

/// The control block as it lies in device memory, and a copy of it in host memory.
struct ControlBlock {
  fade_control control;
  // All waves add to `head` and to `written` with each record. Neighbors in memory may share a
  // part of the cache that can do one such thing at a time.
  std::byte between[4096 - sizeof(fade_control)];
  fade_u64 written[FADE_RING_SEGMENTS]; ///< of a segmented ring; others end before this
};

/// What a ring has in host memory, whatever its transport.
struct RingHostMemory {
  std::byte *bytes = nullptr;  ///< for the drain: the ring, or the mirror of it
  uint64_t *staging = nullptr; ///< SegmentedRing::kStagingWords words
  ControlBlock *device_control = nullptr;
};

class RingData {
public:
  virtual ~RingData() = default;

  /// Enters into the control block where and how waves write.
  virtual void describe(fade_control &control) const noexcept = 0;
  /// Brings the records over, if they have to be.
  virtual SegmentReader *segments() noexcept { return nullptr; }
  /// The dispatch has ended. Ready for another one when it says true; asked again until then.
  virtual bool restart(bool is_dirty) noexcept = 0;
  /// It cannot be read, and should not be used again.
  virtual bool isBroken() const noexcept { return false; }
  /// What was made with the runtime's help. The ring is not in use.
  virtual void destroySignals() noexcept {}
  virtual void freeMemory() noexcept {}
};

class HostRingData final : public RingData {
public:
  HostRingData(const RingHostMemory &host, uint64_t capacity) : host_(host), capacity_(capacity) {}

  void describe(fade_control &control) const noexcept override;
  bool restart(bool is_dirty) noexcept override;

private:
  const RingHostMemory host_;
  const uint64_t capacity_;
};

class DeviceRingData final : public RingData {
public:
  /// Null if there is no memory.
  static std::unique_ptr<DeviceRingData> make(const Agent &gpu, const Agent &cpu, OwnMemory &memory,
                                              const RingHostMemory &host, uint64_t capacity);

  void describe(fade_control &control) const noexcept override;
  SegmentReader *segments() noexcept override { return &reader_; }
  bool restart(bool is_dirty) noexcept override;
  bool isBroken() const noexcept override { return is_broken_; }
  void destroySignals() noexcept override { engine_.destroy(); }
  void freeMemory() noexcept override;

private:
  DeviceRingData(const Agent &gpu, const Agent &cpu, OwnMemory &memory, const SegmentedRing &ring)
      : memory_(memory), ring_(ring), engine_(gpu.handle, cpu.handle), reader_(engine_, ring) {}

  OwnMemory &memory_;
  const SegmentedRing ring_;
  HsaCopyEngine engine_;
  SegmentReader reader_;
  bool is_stopping_ = false; ///< restart() waits for the last copies
  bool is_broken_ = false;
};

/// Whether the copy engine reads what a running kernel has written to memory for it.
bool copiesWhatIsWritten(const Agent &gpu);

} // namespace fade
