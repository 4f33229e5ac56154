// Functions of HSA that came after ROCm 7.2, by name: the headers here do not have them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

namespace late {

/// hsa_amd_queue_create_desc_t
struct QueueDescriptor {
  uint16_t version = 1, flags = 0;
  uint8_t engine = 0, reserved_header[3] = {};
  uint32_t ring_bytes = 1024 * 64, priority = HSA_AMD_QUEUE_PRIORITY_HIGH;
  void (*callback)(hsa_status_t, hsa_queue_t *, void *) = nullptr;
  void *callback_data = nullptr;
  hsa_queue_t *queue = nullptr;
  const uint32_t *cu_mask = nullptr;
  uint32_t type = HSA_QUEUE_TYPE_MULTI, private_size = UINT32_MAX, cu_mask_bits = 0,
           reserved_compute[3] = {};
  uint32_t traffic_class = 0;
  uint8_t reserved[20] = {};
};

/// hsa_amd_memory_copy_op_t
struct Copy {
  uint16_t version = 1, type = 0, entries = 0, traffic_class = 0;
  hsa_signal_t completion{};
  const void *from = nullptr;
  hsa_agent_t from_agent{}, to_agent{};
  void *to = nullptr;
  uint64_t size = 0, second_size = 0, wait[4] = {}, signal[3] = {}, reserved = 0;
};

template <typename Function> Function *find(const char *name) {
  auto *found = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
  if (!found) {
    std::fprintf(stderr, "this ROCr has no %s\n", name);
    std::exit(98);
  }
  return found;
}

using QueueCreate = hsa_status_t(hsa_agent_t, QueueDescriptor *, uint32_t);
using QueueAcquire = hsa_status_t(hsa_agent_t, uint32_t type, uint32_t priority,
                                  void (*)(hsa_status_t, hsa_queue_t *, void *), void *, uint64_t,
                                  hsa_queue_t **);
using QueueRelease = hsa_status_t(hsa_queue_t *);
using BatchCopy = hsa_status_t(const Copy *, uint32_t, uint32_t, const hsa_signal_t *);

} // namespace late
