// The KFD's ioctl interface. The kernel headers of this system define what they know; what newer
// runtimes use beyond that is defined here. Requests are told apart by number only, for the sizes
// of their arguments differ between versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/kfd_ioctl.h>

namespace fade::sim::kfd {

// What GET_VERSION answers. Runtimes use newer features only from these minors on:
// 5 SVM, 12 dmabuf export, 14 event ages, 15 virtual memory management, 17 SDMA queues by engine.
constexpr uint32_t version_major = 1, version_minor = 17;

namespace request {
enum : uint8_t {
  get_version = 0x01,
  create_queue = 0x02,
  destroy_queue = 0x03,
  set_memory_policy = 0x04,
  get_clock_counters = 0x05,
  get_process_apertures = 0x06,
  update_queue = 0x07,
  create_event = 0x08,
  destroy_event = 0x09,
  set_event = 0x0a,
  reset_event = 0x0b,
  wait_events = 0x0c,
  set_scratch_backing_va = 0x11,
  get_tile_config = 0x12,
  set_trap_handler = 0x13,
  get_process_apertures_new = 0x14,
  acquire_vm = 0x15,
  alloc_memory = 0x16,
  free_memory = 0x17,
  map_memory = 0x18,
  unmap_memory = 0x19,
  set_cu_mask = 0x1a,
  get_queue_wave_state = 0x1b,
  get_dmabuf_info = 0x1c,
  import_dmabuf = 0x1d,
  alloc_queue_gws = 0x1e,
  smi_events = 0x1f,
  svm = 0x20,
  set_xnack_mode = 0x21,
  available_memory = 0x23,
  export_dmabuf = 0x24,
  runtime_enable = 0x25,
  // Of AMD's own driver, and of ROCr up to 6.
  ipc_import = 0x80,
  ipc_export = 0x81,
};
} // namespace request
const char *name_of(uint8_t request);

// Queue types of CREATE_QUEUE.
enum QueueType : uint32_t {
  queue_compute = 0,
  queue_sdma = 1,
  queue_compute_aql = 2,
  queue_sdma_xgmi = 3,
  queue_sdma_by_engine = 4,
};

struct ExportDmabuf { // since 1.12
  uint64_t handle;
  uint32_t flags;
  uint32_t dmabuf_fd;
};

// Memory of other processes.
struct IpcImport {
  uint64_t handle;
  uint64_t va_addr;
  uint64_t mmap_offset;
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;
};
struct IpcExport {
  uint64_t handle;
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(IpcImport) == 48 && sizeof(IpcExport) == 32);

// kfd_event_data; since 1.14 a signal event carries its age in the first eight bytes.
struct EventData {
  union {
    kfd_hsa_memory_exception_data memory;
    kfd_hsa_hw_exception_data hardware;
    uint64_t last_event_age;
  };
  uint64_t extension;
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(EventData) == sizeof(kfd_event_data));
static_assert(offsetof(EventData, event_id) == offsetof(kfd_event_data, event_id));

} // namespace fade::sim::kfd
