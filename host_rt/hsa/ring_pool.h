// Rings for instrumented dispatches on one agent.
//
// A ring is three allocations: the ring itself with its tail and a copy of the control block in
// fine-grained host memory, the control block in device memory, and a block for the kernel's
// arguments. With FADE_TRANSPORT=device there is a fourth, the ring in device memory, and what is
// in host memory is the mirror of it (ring_data.h). The configuration in the control block is
// written when the ring is made; between dispatches only the words that waves change are reset.
//
// There are few large rings and many small ones. A dispatch whose records will fit into a small one
// gets that; thousands of them can be in flight. All others get a large one, which keeps the GPU
// busy while the host is slow: if all are in use, the application waits until a dispatch before it
// has ended. If that does not happen, because those before it do not end without it, a small one
// lets it run at all.
//
// Where the software GPU observes a kernel, it is the host that writes. All of such a ring is host
// memory, nothing is copied, and the large ones are smaller: they are written as slowly as they are
// read, and most programs would never touch the rest.
#pragma once

#include "base/settings.h"
#include "fade/block_counts.h"
#include "fade/summary.h"
#include "hsa/agents.h"
#include "hsa/allocations.h"
#include "hsa/async_copy.h"
#include "hsa/own_memory.h"
#include "hsa/ring_data.h"
#include "stream/collector.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace fade {

/// What all rings of the process may use together.
class MemoryBudget {
public:
  explicit MemoryBudget(uint64_t bytes) : left_(bytes), total_(bytes) {}
  bool take(uint64_t bytes);
  void giveBack(uint64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t left() const { return left_.load(std::memory_order_relaxed); }
  uint64_t total() const { return total_; }

private:
  std::atomic<uint64_t> left_;
  const uint64_t total_;
};

class HsaRing;

/// What a dispatch counts: by site, without a stream in several copies, or what it adds up.
struct CounterRoom {
  uint32_t by_site = 0;
  CounterCopies copies{};
  SummaryRequest request{};
  SummaryLayout sums{};
  uint64_t module = 0; ///< of the kernel that adds up, and which of them it is
  uint32_t kernel = 0;
  uint32_t sample = 0; ///< one workgroup in so many is recorded; 0: as the settings say

  std::size_t total() const {
    return copies.copies != 0 ? copies.total() : tables() + tableCount();
  }
  /// Tables are behind the counters, in lines of their own.
  std::size_t tables() const { return sums.copies != 0 ? (by_site + 15u) / 16 * 16 : by_site; }
  bool operator==(const CounterRoom &) const = default;

private:
  std::size_t tableCount() const {
    return (sums.size() + sizeof(fade_counter) - 1) / sizeof(fade_counter);
  }
};

/// What the rings of a pool are for.
enum class RingUse {
  kernels,   ///< written by instrumented kernels
  rewritten, ///< by those that were made from machine code, which know one kind of ring
  observed,  ///< by the software GPU's observer
  counted,   ///< the same, with next to no records
};

class RingPool {
public:
  /// How long a dispatch waits for a large ring while none is given back: longer than most kernels
  /// run, and not too long for a kernel that waits for what the application does next.
  static constexpr std::chrono::milliseconds kPatience{2000};

  RingPool(const Agent &gpu, const Agent &host, const Settings &settings, MemoryBudget &budget,
           AllocationTable &allocations, std::chrono::milliseconds patience = kPatience,
           RingUse use = RingUse::kernels);
  ~RingPool();

  /// A ring for about so many bytes of records, and with room for counters. If it has to be a large
  /// one and all are in use, waits as long as dispatches come to an end. Null if there is no ring
  /// at all.
  HsaRing *take(uint64_t bytes, const CounterRoom &counters);
  /// Before the runtime is shut down: the signals of rings that are not in use.
  void destroySignals();
  /// After take() has returned null.
  std::string whyNone();

private:
  friend class HsaRing;
  HsaRing *takeFree(std::vector<HsaRing *> &list, const CounterRoom &counters);
  using Lock = std::unique_lock<std::mutex>;
  /// Let go of the lock meanwhile: the runtime may wait for the GPU, which may wait for the thread
  /// that gives rings back.
  HsaRing *makeRing(bool large, Lock &lock);
  HsaRing *makeRing(bool large, Transport transport, Lock &lock);
  HsaRing *takeLarge(const CounterRoom &counters, Lock &lock);
  HsaRing *takeSmall(const CounterRoom &counters, Lock &lock);
  /// Rings in device memory cannot be read: there will be no more of them.
  void avoidDeviceMemory();
  void giveBack(HsaRing &ring);
  uint64_t capacityOf(bool large) const;
  bool isDirect() const { return use_ == RingUse::observed || use_ == RingUse::counted; }

  const Agent gpu_;
  const Agent host_;
  const Settings &settings_;
  MemoryBudget &budget_;
  AllocationTable &allocations_; ///< of the application
  OwnMemories memory_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<HsaRing>> all_;
  std::vector<HsaRing *> free_large_, free_small_;
  const RingUse use_;
  Transport transport_;
  const std::chrono::milliseconds patience_;
  unsigned large_count_ = 0;   ///< of all_
  unsigned being_made_ = 0;    ///< that will be among all_
  uint64_t large_freed_ = 0;   ///< how often a large ring was given back
  bool stalled_ = false;       ///< somebody waited in vain, and no large ring was freed since
  bool exhausted_ = false;     ///< the same for any ring
  bool lacks_memory_ = false;  ///< the runtime had none for a ring
  bool said_ = false;          ///< that there is no memory
  bool is_unprepared_ = false; ///< the last ring that was taken could not be configured
};

class HsaRing final : public Ring {
public:
  ~HsaRing() override;

  /// Address of the fade_control, for the kernel.
  uint64_t controlAddress() const { return reinterpret_cast<uint64_t>(device_control_); }
  /// At least `size` bytes for the kernel's arguments; empty if there is no memory.
  std::span<uint8_t> kernargs(std::size_t size);
  uint64_t capacity() const { return capacity_; }
  /// The ring was taken and no kernel will know of it.
  void giveBackUnused() noexcept { pool_.giveBack(*this); }

  bool fetchControl() noexcept override;
  bool recycle() noexcept override;
  std::string damage() const override;
  const fade_control &control() const noexcept override { return staging_->control; }
  std::span<const fade_counter> counters() const noexcept override;
  std::vector<std::byte> summaries() const override;

private:
  friend class RingPool;

  HsaRing(RingPool &pool, uint64_t capacity, Transport transport, bool is_large)
      : pool_(pool), capacity_(capacity), transport_(transport), is_large_(is_large) {}
  bool allocate();
  bool makeData();
  void release();
  void destroySignals() noexcept;
  bool configure(const CounterRoom &counters);
  fade_control pristine() const;
  std::span<std::byte> tables() const;
  fade_summary summary() const;
  void clearCounters() const;
  OwnMemory &controlMemory() {
    return transport_ == Transport::device ? pool_.memory_.copied : pool_.memory_.device;
  }
  std::size_t controlSize() const {
    return transport_ == Transport::device ? sizeof(ControlBlock) : sizeof(fade_control);
  }

  RingPool &pool_;
  const uint64_t capacity_;
  const Transport transport_;
  const bool is_large_;
  std::byte *host_memory_ = nullptr;
  ControlBlock *device_control_ = nullptr; ///< staging_ if the host writes; so are the counters
  std::unique_ptr<RingData> data_;
  std::byte *kernarg_memory_ = nullptr;
  std::size_t kernarg_size_ = 0;
  ControlBlock *staging_ = nullptr; ///< in host_memory_
  CounterRoom counters_;            ///< in use
  std::size_t counter_room_ = 0;
  bool is_configured_ = false; ///< the device has the configuration for counters_
  std::byte *device_counters_ = nullptr;
  std::byte *host_counters_ = nullptr;
  AsyncCopy copy_;
  int step_ = 0; ///< of fetchControl or recycle
  bool is_broken_ = false;
};

} // namespace fade
