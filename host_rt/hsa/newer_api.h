// Functions and structures of HSA that are younger than the headers FADE may be built with. Their
// layouts are those of hsa_ext_amd.h 1.31 (ROCm 10); enumerations are numbers here.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

namespace fade {

/// Copies on a chosen engine. Since ROCm 5.6.
hsa_status_t hsa_amd_memory_async_copy_on_engine(void *, hsa_agent_t, const void *, hsa_agent_t,
                                                 size_t, uint32_t, const hsa_signal_t *,
                                                 hsa_signal_t, uint32_t engine, bool force);

/// Virtual memory management: memory is made here and mapped later. Since ROCm 6; the handle is a
/// structure with one number.
struct VmemHandle {
  uint64_t handle;
};
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t, size_t, uint32_t type,
                                        uint64_t flags, VmemHandle *);
hsa_status_t hsa_amd_vmem_map(void *, size_t size, size_t offset, VmemHandle, uint64_t flags);
hsa_status_t hsa_amd_vmem_unmap(void *, size_t size);

using QueueErrorFunction = void (*)(hsa_status_t, hsa_queue_t *, void *);

/// One queue to be made (hsa_amd_queue_create_desc_t).
struct QueueDescriptor {
  static constexpr uint16_t kVersion = 1;
  enum : uint16_t { kRingOnDevice = 1, kQueueOnDevice = 2 }; ///< flags
  enum : uint8_t { kCompute = 0, kSdma = 1, kAie = 2 };      ///< engines

  uint16_t version, flags;
  uint8_t engine, reserved_header[3];
  uint32_t ring_bytes;
  uint32_t priority;
  QueueErrorFunction callback;
  void *callback_data;
  hsa_queue_t *queue; ///< out; null on failure
  struct Compute {
    const uint32_t *cu_mask;
    uint32_t type;
    uint32_t private_size;
    uint32_t cu_mask_bits;
    uint32_t reserved[3];
  } compute; ///< of a union; other engines have other members
  uint32_t traffic_class;
  uint8_t reserved[20];
};
static_assert(offsetof(QueueDescriptor, engine) == 4 && offsetof(QueueDescriptor, priority) == 12);
static_assert(offsetof(QueueDescriptor, queue) == 32 && offsetof(QueueDescriptor, compute) == 40);
static_assert(offsetof(QueueDescriptor, traffic_class) == 72 && sizeof(QueueDescriptor) == 96);

/// Makes queues. Of several, those that succeed stay, and the first error is returned. HIP makes
/// its queues with it since ROCm 10.
hsa_status_t hsa_amd_queue_create(hsa_agent_t, QueueDescriptor *, uint32_t count);

/// Queues that are shared when there are many: each call gives another handle. Since ROCm 7.14.
hsa_status_t hsa_amd_counted_queue_acquire(hsa_agent_t, uint32_t type, uint32_t priority,
                                           QueueErrorFunction, void *data, uint64_t flags,
                                           hsa_queue_t **);
hsa_status_t hsa_amd_counted_queue_release(hsa_queue_t *);

/// One copy of several (hsa_amd_memory_copy_op_t). What several copies in one have as lists is a
/// pointer to the list in the same place.
struct CopyOperation {
  static constexpr uint16_t kVersion = 1;
  enum : uint16_t { kLinear = 0, kBroadcast = 1, kSwap = 2 }; ///< types; others are indirect

  uint16_t version, type, entries, traffic_class;
  hsa_signal_t completion; ///< the same for all operations of a call, which has their number
  const void *from;
  hsa_agent_t from_agent;
  hsa_agent_t to_agent;
  void *to;
  uint64_t size, second_size;
  uint64_t wait[4], signal[3]; ///< not looked at
  uint64_t reserved;

  /// The first of several, and the bytes of all.
  hsa_agent_t firstTarget() const {
    return entries != 0 && to_agent.handle ? *reinterpret_cast<hsa_agent_t *>(to_agent.handle)
                                           : to_agent;
  }
  uint64_t bytes() const {
    if (type == kBroadcast) return size * entries;
    if (entries == 0) return size;
    uint64_t sum = 0;
    for (uint32_t i = 0; size != 0 && i < entries; ++i)
      sum += reinterpret_cast<const uint64_t *>(size)[i];
    return sum;
  }
};
static_assert(offsetof(CopyOperation, to) == 40 && sizeof(CopyOperation) == 128);

hsa_status_t hsa_amd_memory_async_batch_copy(const CopyOperation *, uint32_t count,
                                             uint32_t wait_count, const hsa_signal_t *waits_for);

/// Of early versions of what QueueDescriptor::kSdma is now. Its parameters are passed on as words;
/// a caller that has fewer does not mind.
using Word = uint64_t;
hsa_status_t hsa_amd_sdma_queue_create(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                                       Word, Word);

} // namespace fade
