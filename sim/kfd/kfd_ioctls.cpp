// The ioctls of /dev/kfd. Arguments are the kernel's own structures; functions return 0 or an
// errno.
#include "base/clock.h"
#include "base/failures.h"
#include "base/trace.h"
#include "kfd/driver.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::sim::kfd {
namespace {

// Where flat addresses mean LDS and scratch; the executor uses the same.
constexpr uint64_t lds_base = 0x1000000000000, scratch_base = 0x2000000000000,
                   aperture_size = 1ull << 32;
constexpr uint64_t vm_base = 0x4000, vm_limit = 0x7fffffffffff;

template <class T> T &as(void *argument) { return *static_cast<T *>(argument); }

template <class F> int for_each_device(uint64_t ids, uint32_t count, uint32_t &success, F action) {
  auto *id = reinterpret_cast<const uint32_t *>(ids);
  for (; success < count; ++success)
    if (int error = action(id[success])) return error;
  return 0;
}

} // namespace

const char *name_of(uint8_t request) {
  static const char *const names[] = {"0x00",
                                      "GET_VERSION",
                                      "CREATE_QUEUE",
                                      "DESTROY_QUEUE",
                                      "SET_MEMORY_POLICY",
                                      "GET_CLOCK_COUNTERS",
                                      "GET_PROCESS_APERTURES",
                                      "UPDATE_QUEUE",
                                      "CREATE_EVENT",
                                      "DESTROY_EVENT",
                                      "SET_EVENT",
                                      "RESET_EVENT",
                                      "WAIT_EVENTS",
                                      "DBG_REGISTER",
                                      "DBG_UNREGISTER",
                                      "DBG_ADDRESS_WATCH",
                                      "DBG_WAVE_CONTROL",
                                      "SET_SCRATCH_BACKING_VA",
                                      "GET_TILE_CONFIG",
                                      "SET_TRAP_HANDLER",
                                      "GET_PROCESS_APERTURES_NEW",
                                      "ACQUIRE_VM",
                                      "ALLOC_MEMORY_OF_GPU",
                                      "FREE_MEMORY_OF_GPU",
                                      "MAP_MEMORY_TO_GPU",
                                      "UNMAP_MEMORY_FROM_GPU",
                                      "SET_CU_MASK",
                                      "GET_QUEUE_WAVE_STATE",
                                      "GET_DMABUF_INFO",
                                      "IMPORT_DMABUF",
                                      "ALLOC_QUEUE_GWS",
                                      "SMI_EVENTS",
                                      "SVM",
                                      "SET_XNACK_MODE",
                                      "CRIU_OP",
                                      "AVAILABLE_MEMORY",
                                      "EXPORT_DMABUF",
                                      "RUNTIME_ENABLE",
                                      "DBG_TRAP"};
  if (request == request::ipc_import) return "IPC_IMPORT_HANDLE";
  if (request == request::ipc_export) return "IPC_EXPORT_HANDLE";
  return request < std::size(names) ? names[request] : "(unknown)";
}

int Driver::kfd_ioctl(uint8_t number, void *argument) {
  switch (number) { // those that wait, or take the lock themselves
  case request::wait_events:
    poller_.kick(); // whoever sleeps now has rung its doorbells before
    return events_.wait(as<kfd_ioctl_wait_events_args>(argument));
  case request::destroy_queue:
    return destroy_queue(as<kfd_ioctl_destroy_queue_args>(argument).queue_id);
  case request::update_queue: return update_queue(as<kfd_ioctl_update_queue_args>(argument));
  case request::set_event:
    return events_.set(as<kfd_ioctl_set_event_args>(argument).event_id) ? 0 : EINVAL;
  case request::reset_event:
    return events_.reset(as<kfd_ioctl_reset_event_args>(argument).event_id) ? 0 : EINVAL;
  case request::create_event: return create_event(as<kfd_ioctl_create_event_args>(argument));
  case request::destroy_event:
    return events_.destroy(as<kfd_ioctl_destroy_event_args>(argument).event_id) ? 0 : EINVAL;
  default: break;
  }
  std::lock_guard lock(mutex_);
  switch (number) {
  case request::get_version:
    as<kfd_ioctl_get_version_args>(argument) = {version_major, version_minor};
    return 0;
  case request::create_queue: return create_queue(as<kfd_ioctl_create_queue_args>(argument));
  case request::get_clock_counters: {
    auto &args = as<kfd_ioctl_get_clock_counters_args>(argument);
    args.gpu_clock_counter = gpu_clock();
    args.cpu_clock_counter = nanoseconds(CLOCK_MONOTONIC_RAW);
    args.system_clock_counter = args.gpu_clock_counter * gpu_tick;
    args.system_clock_freq = 1000000000;
    return 0;
  }
  case request::get_process_apertures:
    return process_apertures_old(as<kfd_ioctl_get_process_apertures_args>(argument));
  case request::get_process_apertures_new:
    return process_apertures(as<kfd_ioctl_get_process_apertures_new_args>(argument));
  case request::alloc_memory: return allocate(as<kfd_ioctl_alloc_memory_of_gpu_args>(argument));
  case request::free_memory:
    trace_buffer(as<kfd_ioctl_free_memory_of_gpu_args>(argument).handle);
    return allocations_.release(as<kfd_ioctl_free_memory_of_gpu_args>(argument).handle);
  case request::map_memory: return map_memory(as<kfd_ioctl_map_memory_to_gpu_args>(argument));
  case request::unmap_memory:
    return unmap_memory(as<kfd_ioctl_unmap_memory_from_gpu_args>(argument));
  case request::svm: return shared_virtual_memory(as<kfd_ioctl_svm_args>(argument));
  case request::export_dmabuf: return export_dmabuf(as<ExportDmabuf>(argument));
  case request::import_dmabuf: return import_dmabuf(as<kfd_ioctl_import_dmabuf_args>(argument));
  case request::ipc_export: return export_ipc(as<IpcExport>(argument));
  case request::ipc_import: return import_ipc(as<IpcImport>(argument));
  case request::get_dmabuf_info: return dmabuf_info(as<kfd_ioctl_get_dmabuf_info_args>(argument));
  case request::available_memory: {
    auto &args = as<kfd_ioctl_get_available_memory_args>(argument);
    auto gpu = gpu_of(args.gpu_id);
    if (!gpu) return EINVAL;
    args.available = allocations_.vram_free(*gpu);
    return 0;
  }
  case request::set_xnack_mode: { // -1 asks; there is no retry of faults
    auto &mode = as<kfd_ioctl_set_xnack_mode_args>(argument).xnack_enabled;
    if (mode > 0) return EPERM;
    mode = 0;
    return 0;
  }
  case request::get_tile_config: {
    auto &args = as<kfd_ioctl_get_tile_config_args>(argument);
    auto gpu = gpu_of(args.gpu_id);
    if (!gpu) return EINVAL;
    args.num_tile_configs = args.num_macro_tile_configs = 0; // newer cards have no tables
    args.gb_addr_config = cards_[*gpu].tiling;
    args.num_banks = 1u << (args.gb_addr_config >> 12 & 7);
    args.num_ranks = 1;
    return 0;
  }
  case request::get_queue_wave_state: {
    auto &args = as<kfd_ioctl_get_queue_wave_state_args>(argument);
    args.ctl_stack_used_size = args.save_area_used_size = 0; // waves are never taken off the device
    return queues_.contains(args.queue_id) ? 0 : EINVAL;
  }
  case request::alloc_queue_gws: {
    auto &args = as<kfd_ioctl_alloc_queue_gws_args>(argument);
    args.first_gws = 0;
    return queues_.contains(args.queue_id) ? 0 : EINVAL;
  }
  case request::set_memory_policy:
  case request::set_scratch_backing_va:
  case request::set_trap_handler:
  case request::acquire_vm:
  case request::set_cu_mask: return 0; // nothing to do: the executor has no need for them
  default: return EINVAL;
  }
}

// ---- queues

int Driver::create_queue(kfd_ioctl_create_queue_args &args) {
  auto gpu = gpu_of(args.gpu_id);
  if (!gpu) return EINVAL;
  uint32_t id = 0;
  while (queues_.contains(id)) ++id;
  if (id >= DeviceFile::doorbells_per_gpu) return ENOSPC;
  bool aql = args.queue_type == queue_compute_aql;
  if (!aql && args.queue_type != queue_sdma && args.queue_type != queue_sdma_xgmi &&
      args.queue_type != queue_sdma_by_engine) {
    say("queues of type %u (PM4) are not emulated, only AQL and SDMA", args.queue_type);
    return EINVAL;
  }
  if (aql && failures().refuses(Failure::queue)) return ENOMEM;
  QueueSpec spec;
  spec.id = id;
  spec.ring = args.ring_base_address;
  spec.ring_bytes = args.ring_size;
  spec.read_pointer = args.read_pointer_address;
  spec.write_pointer = args.write_pointer_address;
  spec.doorbell = device_file_.doorbell(*gpu, id);
  *spec.doorbell = doorbell_unrung; // the first value an AQL queue rings is 0
  if (!gpus_[*gpu]->create_queue(aql ? Gpu::QueueKind::aql : Gpu::QueueKind::sdma, spec)) {
    say("CREATE_QUEUE: ring 0x%" PRIx64 " or read pointer 0x%" PRIx64 " is not mapped", spec.ring,
        spec.read_pointer);
    return EFAULT;
  }
  queues_[id] = *gpu;
  args.queue_id = id;
  args.doorbell_offset = DeviceFile::doorbell_offset(*gpu) + uint64_t{id} * 8;
  if (trace().packets)
    say("queue %u: created on GPU %zu, %s, %" PRIu64 " bytes", id, *gpu, aql ? "AQL" : "SDMA",
        spec.ring_bytes);
  return 0;
}

int Driver::destroy_queue(uint32_t id) {
  size_t gpu;
  {
    std::lock_guard lock(mutex_);
    auto it = queues_.find(id);
    if (it == queues_.end()) return EINVAL;
    gpu = it->second;
  }
  gpus_[gpu]->destroy_queue(id); // waits for the packet that runs
  std::lock_guard lock(mutex_);
  queues_.erase(id);
  return 0;
}

int Driver::update_queue(const kfd_ioctl_update_queue_args &args) {
  size_t gpu;
  {
    std::lock_guard lock(mutex_);
    auto it = queues_.find(args.queue_id);
    if (it == queues_.end()) return EINVAL;
    gpu = it->second;
  }
  bool active = args.ring_base_address && args.ring_size && args.queue_percentage;
  return gpus_[gpu]->update_queue(args.queue_id, args.ring_base_address, args.ring_size, active)
             ? 0
             : EFAULT;
}

// ---- events

int Driver::create_event(kfd_ioctl_create_event_args &args) {
  auto id = events_.create(args.event_type, args.auto_reset);
  if (!id) return ENOSPC;
  if (args.event_type == KFD_IOC_EVENT_SIGNAL || args.event_type == KFD_IOC_EVENT_DEBUG_EVENT)
    args.event_page_offset = DeviceFile::event_page_offset;
  args.event_id = args.event_slot_index = args.event_trigger_data = *id;
  return 0;
}

// ---- memory

kfd_process_device_apertures Driver::apertures_of(size_t gpu) const {
  kfd_process_device_apertures a{};
  a.gpu_id = gpu_id(gpu);
  a.lds_base = lds_base;
  a.lds_limit = lds_base + aperture_size - 1;
  a.scratch_base = scratch_base;
  a.scratch_limit = scratch_base + aperture_size - 1;
  a.gpuvm_base = vm_base;
  a.gpuvm_limit = vm_limit;
  return a;
}

int Driver::process_apertures(kfd_ioctl_get_process_apertures_new_args &args) const {
  auto count = static_cast<uint32_t>(gpus_.size());
  if (args.num_of_nodes) {
    auto *out =
        reinterpret_cast<kfd_process_device_apertures *>(args.kfd_process_device_apertures_ptr);
    count = std::min(count, args.num_of_nodes);
    for (uint32_t i = 0; i < count; ++i) out[i] = apertures_of(i);
  }
  args.num_of_nodes = count; // asked with 0: how many there are
  return 0;
}

int Driver::process_apertures_old(kfd_ioctl_get_process_apertures_args &args) const {
  args.num_of_nodes = static_cast<uint32_t>(std::min<size_t>(gpus_.size(), NUM_OF_SUPPORTED_GPUS));
  for (uint32_t i = 0; i < args.num_of_nodes; ++i) args.process_apertures[i] = apertures_of(i);
  return 0;
}

int Driver::allocate(kfd_ioctl_alloc_memory_of_gpu_args &args) {
  auto gpu = gpu_of(args.gpu_id);
  if (!gpu) return EINVAL;
  int error = allocations_.allocate(*gpu, args);
  if (trace().ioctls)
    say("  GPU %zu, address 0x%" PRIx64 ", 0x%" PRIx64 " bytes, flags 0x%x: handle %" PRIu64
        ", offset 0x%" PRIx64,
        *gpu, uint64_t{args.va_addr}, uint64_t{args.size}, args.flags, uint64_t{args.handle},
        uint64_t{args.mmap_offset});
  return error;
}

void Driver::trace_buffer(uint64_t handle) const {
  if (!trace().ioctls) return;
  if (auto *buffer = allocations_.find(handle))
    say("  handle %" PRIu64 ": address 0x%" PRIx64 ", 0x%" PRIx64 " bytes", handle, buffer->va,
        buffer->size);
  else
    say("  handle %" PRIu64 " is not known", handle);
}

int Driver::map_memory(kfd_ioctl_map_memory_to_gpu_args &args) {
  trace_buffer(args.handle);
  return for_each_device(args.device_ids_array_ptr, args.n_devices, args.n_success,
                         [&](uint32_t id) {
                           auto gpu = gpu_of(id);
                           return gpu ? allocations_.map(args.handle, *gpu) : EINVAL;
                         });
}

int Driver::unmap_memory(kfd_ioctl_unmap_memory_from_gpu_args &args) {
  trace_buffer(args.handle);
  return for_each_device(args.device_ids_array_ptr, args.n_devices, args.n_success,
                         [&](uint32_t id) {
                           auto gpu = gpu_of(id);
                           return gpu ? allocations_.unmap(args.handle, *gpu) : EINVAL;
                         });
}

// What the program wants of memory that belongs to no device.
static void log_svm(const kfd_ioctl_svm_args &args) {
  std::string wishes;
  for (auto &a : std::span(args.attrs, args.nattr)) {
    const bool is_coherence = a.value & KFD_IOCTL_SVM_FLAG_COHERENT;
    if (a.type == KFD_IOCTL_SVM_ATTR_SET_FLAGS && is_coherence) wishes += " coherent";
    if (a.type == KFD_IOCTL_SVM_ATTR_CLR_FLAGS && is_coherence) wishes += " coarse";
    if (a.type == KFD_IOCTL_SVM_ATTR_PREFERRED_LOC)
      wishes += a.value == KFD_IOCTL_SVM_LOCATION_SYSMEM ? " system" : " device";
  }
  say("svm %" PRIu64 " bytes at 0x%" PRIx64 ":%s", uint64_t{args.size}, uint64_t{args.start_addr},
      wishes.c_str());
}

int Driver::shared_virtual_memory(kfd_ioctl_svm_args &args) {
  std::span attributes(args.attrs, args.nattr);
  if (args.op == KFD_IOCTL_SVM_OP_GET_ATTR)
    return svm_.get(args.start_addr, args.size, attributes) ? 0 : EINVAL;
  if (args.op != KFD_IOCTL_SVM_OP_SET_ATTR) return EINVAL;
  if (!host_has(args.start_addr, args.size)) return EFAULT;
  if (!svm_.set(args.start_addr, args.size, attributes)) return EINVAL;
  if (trace().allocations) log_svm(args);
  for (auto &a : attributes) {
    bool give = a.type == KFD_IOCTL_SVM_ATTR_ACCESS || a.type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
    if (!give && a.type != KFD_IOCTL_SVM_ATTR_NO_ACCESS) continue;
    AddressSpace &space = gpus_[*gpu_of(a.value)]->address_space();
    if (give)
      space.map(args.start_addr, args.size, reinterpret_cast<void *>(args.start_addr));
    else
      space.unmap(args.start_addr, args.size);
  }
  return 0;
}

// ---- buffers of other processes. A handle says which process has it, and where in its GPU's file,
// which others of the same user can open.

int Driver::export_ipc(IpcExport &args) {
  auto *buffer = allocations_.find(args.handle);
  if (!buffer) return EINVAL;
  auto where = allocations_.shared(*buffer);
  if (!where) return EINVAL;
  std::ranges::copy(where->words, args.share_handle);
  return 0;
}

int Driver::import_ipc(IpcImport &args) {
  auto gpu = gpu_of(args.gpu_id);
  if (!gpu) return EINVAL;
  SharedBuffer from;
  std::ranges::copy(args.share_handle, from.words.begin());
  args.mmap_offset = SharedBuffer::page; // any: libhsakmt notes the GPU only if there is one
  args.flags = from.flags();
  return allocations_.import(*gpu, args.va_addr, from, args.handle);
}

// ---- buffers as descriptors. To this process one is a buffer of its own; to another, which was
// sent it, its name says what IPC handles say, and its bytes are the buffer's metadata.

int Driver::export_dmabuf(ExportDmabuf &args) {
  auto *buffer = allocations_.find(args.handle);
  if (!buffer) return EINVAL;
  auto where = allocations_.shared(*buffer);
  auto name = where ? NamedBuffer{*where, static_cast<uint32_t>(buffer->owner)}.name()
                    : std::string("dmabuf");
  int fd = memfd_create(name.c_str(), MFD_CLOEXEC);
  struct stat st;
  const std::string &noted = buffer->metadata;
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(buffer->size)) != 0 || fstat(fd, &st) != 0 ||
      write(fd, noted.data(), noted.size()) != static_cast<ssize_t>(noted.size())) {
    if (fd >= 0) close(fd);
    return ENOMEM;
  }
  dmabufs_[{st.st_dev, st.st_ino}] = args.handle;
  args.dmabuf_fd = static_cast<uint32_t>(fd);
  return 0;
}

std::optional<uint64_t> Driver::buffer_of_dmabuf(int fd) const {
  struct stat st;
  if (fstat(fd, &st) != 0) return std::nullopt;
  auto it = dmabufs_.find({st.st_dev, st.st_ino});
  if (it == dmabufs_.end() || !allocations_.find(it->second)) return std::nullopt;
  return it->second;
}

int Driver::import_dmabuf(kfd_ioctl_import_dmabuf_args &args) {
  const int fd = static_cast<int>(args.dmabuf_fd);
  auto gpu = gpu_of(args.gpu_id);
  if (!gpu) return EINVAL;
  uint64_t made = 0;
  int error = EINVAL;
  if (auto handle = buffer_of_dmabuf(fd))
    error = allocations_.alias(*handle, *gpu, args.va_addr, made);
  else if (auto named = NamedBuffer::of(fd))
    error = allocations_.import(*gpu, args.va_addr, named->buffer, made);
  args.handle = made;
  return error;
}

int Driver::dmabuf_info(kfd_ioctl_get_dmabuf_info_args &args) {
  const int fd = static_cast<int>(args.dmabuf_fd);
  args.metadata_size = 0;
  if (auto handle = buffer_of_dmabuf(fd)) {
    auto *buffer = allocations_.find(*handle);
    args.size = buffer->size;
    args.gpu_id = gpu_id(buffer->gpu);
    args.flags = buffer->flags;
    return 0;
  }
  auto named = NamedBuffer::of(fd);
  if (!named || named->gpu >= gpus_.size()) return EINVAL;
  args.size = named->buffer.size();
  args.gpu_id = gpu_id(named->gpu);
  args.flags = named->buffer.flags();
  return 0;
}

} // namespace fade::sim::kfd
