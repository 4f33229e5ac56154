// The ioctls of the render nodes, as far as libdrm and the runtimes use them. Functions return 0 or
// an errno.
#include "base/clock.h"
#include "kfd/driver.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace fade::sim::kfd {
namespace {

enum DrmRequest : uint8_t {
  request_version = 0x00,
  request_get_client = 0x05,
  request_gem_close = 0x09,
  request_prime_fd_to_handle = 0x2e,
  request_gem_mmap = DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP,
  request_gem_metadata = DRM_COMMAND_BASE + DRM_AMDGPU_GEM_METADATA,
  request_gem_op = DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP,
  request_info = DRM_COMMAND_BASE + DRM_AMDGPU_INFO,
  request_gem_va = DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA,
};

// The caller gives the room it has and learns how long the text is.
void answer(char *to, __kernel_size_t &size, const char *text) {
  size_t length = std::strlen(text);
  if (to) std::memcpy(to, text, std::min<size_t>(size, length));
  size = length;
}

drm_amdgpu_info_device device_info(const Card &card) {
  drm_amdgpu_info_device d{};
  d.device_id = card.device_id;
  d.pci_rev = card.revision;
  d.external_rev = card.revision;
  d.family = card.drm_family;
  d.num_shader_engines = card.shader_arrays / card.arrays_per_engine;
  d.num_shader_arrays_per_engine = card.arrays_per_engine;
  d.gpu_counter_freq = 1000000 / gpu_tick; // kHz
  d.max_engine_clock = card.gpu().card.engine_mhz * 1000;
  d.max_memory_clock = card.memory_mhz * 1000;
  d.cu_active_number = card.compute_units();
  if (card.is_apu) d.ids_flags |= AMDGPU_IDS_FLAGS_FUSION;
  d.virtual_address_offset = 0x200000;
  d.virtual_address_max = 0x800000000000;
  d.virtual_address_alignment = 4096;
  d.pte_fragment_size = 2 << 20;
  d.gart_page_size = 4096;
  d.vram_bit_width = card.memory_bits;
  d.wave_front_size = card.gpu().unit.smallest_wave;
  d.num_cu_per_sh = card.cus_per_array;
  d.high_va_offset = 0xffff800000000000;
  d.high_va_max = 0xffffffffffe00000;
  return d;
}

} // namespace

int Driver::drm_ioctl(size_t gpu, uint8_t number, void *argument) {
  switch (number) {
  case request_version: return drm_version(argument);
  case request_get_client: static_cast<drm_client *>(argument)->auth = 1; return 0;
  case request_info: return amdgpu_info(gpu, argument);
  default: break;
  }
  std::lock_guard lock(mutex_);
  switch (number) {
  case request_prime_fd_to_handle: {
    auto &args = *static_cast<drm_prime_handle *>(argument);
    auto handle = buffer_of_dmabuf(args.fd);
    if (!handle) handle = open_dmabuf(gpu, args.fd);
    if (!handle) return EINVAL;
    args.handle = static_cast<uint32_t>(*handle);
    return 0;
  }
  case request_gem_close: // other handles are those of the KFD, which frees them
    if (opened_.erase(static_cast<drm_gem_close *>(argument)->handle))
      allocations_.release(static_cast<drm_gem_close *>(argument)->handle);
    return 0;
  case request_gem_mmap: {
    auto &args = *static_cast<drm_amdgpu_gem_mmap *>(argument);
    auto *buffer = allocations_.find(args.in.handle);
    if (!buffer || !buffer->stored) return EINVAL;
    args.out.addr_ptr = buffer->offset;
    return 0;
  }
  case request_gem_va: return gem_va(gpu, argument);
  case request_gem_metadata: return gem_metadata(argument);
  case request_gem_op: return gem_op(argument);
  default: return EINVAL;
  }
}

// A handle for another process's buffer, which nobody has given an address.
std::optional<uint64_t> Driver::open_dmabuf(size_t gpu, int fd) {
  auto named = NamedBuffer::of(fd);
  uint64_t handle = 0;
  if (!named || allocations_.import(gpu, 0, named->buffer, handle) != 0) return std::nullopt;
  opened_.insert(handle);
  std::string noted(sizeof(drm_amdgpu_gem_metadata::data), '\0');
  if (pread(fd, noted.data(), noted.size(), 0) > 0) allocations_.note(handle, std::move(noted));
  return handle;
}

// ROCr since 7.2 knows by them whether it has opened the memory that was meant.
int Driver::gem_metadata(void *argument) {
  auto &args = *static_cast<drm_amdgpu_gem_metadata *>(argument);
  if (args.op == AMDGPU_GEM_METADATA_OP_SET_METADATA) {
    if (args.data.data_size_bytes > sizeof args.data.data) return EINVAL;
    std::string all(sizeof args.data, '\0');
    std::memcpy(all.data(), &args.data, sizeof args.data);
    return allocations_.note(args.handle, std::move(all)) ? 0 : EINVAL;
  }
  auto *buffer = allocations_.find(args.handle);
  if (!buffer || args.op != AMDGPU_GEM_METADATA_OP_GET_METADATA) return EINVAL;
  std::memset(&args.data, 0, sizeof args.data);
  std::memcpy(&args.data, buffer->metadata.data(),
              std::min(sizeof args.data, buffer->metadata.size()));
  return 0;
}

// How a buffer was made; libdrm asks for it together with the metadata.
int Driver::gem_op(void *argument) {
  auto &args = *static_cast<drm_amdgpu_gem_op *>(argument);
  auto *buffer = allocations_.find(args.handle);
  if (!buffer || args.op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO || !args.value) return EINVAL;
  drm_amdgpu_gem_create_in made{};
  made.bo_size = buffer->size;
  made.alignment = 4096;
  made.domains =
      buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
  std::memcpy(reinterpret_cast<void *>(args.value), &made, sizeof made);
  return 0;
}

int Driver::drm_version(void *argument) const {
  auto &v = *static_cast<struct drm_version *>(argument);
  v.version_major = 3;
  v.version_minor = 57;
  v.version_patchlevel = 0;
  answer(v.name, v.name_len, "amdgpu");
  answer(v.date, v.date_len, "20150101");
  answer(v.desc, v.desc_len, "AMD GPU");
  return 0;
}

int Driver::amdgpu_info(size_t gpu, void *argument) {
  auto &args = *static_cast<drm_amdgpu_info *>(argument);
  auto *out = reinterpret_cast<void *>(args.return_pointer);
  auto reply = [&](const auto &value) {
    std::memcpy(out, &value, std::min<size_t>(sizeof value, args.return_size));
  };
  const Card &card = cards_[gpu];
  std::memset(out, 0, args.return_size); // what is not known is zero
  std::lock_guard lock(mutex_);
  switch (args.query) {
  case AMDGPU_INFO_ACCEL_WORKING: reply(uint32_t{1}); return 0;
  case AMDGPU_INFO_DEV_INFO: reply(device_info(card)); return 0;
  case AMDGPU_INFO_VRAM_GTT: {
    drm_amdgpu_info_vram_gtt sizes{};
    sizes.vram_size = card.vram_bytes();
    sizes.vram_cpu_accessible_size = card.host_visible_vram ? card.vram_bytes() : 0;
    sizes.gtt_size = host_.memory_bytes;
    reply(sizes);
    return 0;
  }
  case AMDGPU_INFO_VRAM_USAGE: reply(allocations_.vram_used(gpu)); return 0;
  case AMDGPU_INFO_GTT_USAGE: reply(allocations_.host_used()); return 0;
  case AMDGPU_INFO_MEMORY: {
    drm_amdgpu_memory_info m{};
    m.vram.total_heap_size = m.vram.usable_heap_size = card.vram_bytes();
    m.vram.heap_usage = allocations_.vram_used(gpu);
    m.vram.max_allocation = card.vram_bytes();
    if (card.host_visible_vram) m.cpu_accessible_vram = m.vram;
    m.gtt.total_heap_size = m.gtt.usable_heap_size = m.gtt.max_allocation = host_.memory_bytes;
    m.gtt.heap_usage = allocations_.host_used();
    reply(m);
    return 0;
  }
  default: return 0;
  }
}

int Driver::gem_va(size_t gpu, void *argument) {
  auto &args = *static_cast<drm_amdgpu_gem_va *>(argument);
  if (args.operation == AMDGPU_VA_OP_MAP || args.operation == AMDGPU_VA_OP_REPLACE)
    return allocations_.map_part(args.handle, gpu, args.va_address, args.offset_in_bo,
                                 args.map_size, args.flags & AMDGPU_VM_PAGE_WRITEABLE);
  gpus_[gpu]->address_space().unmap(args.va_address, args.map_size);
  return 0;
}

} // namespace fade::sim::kfd
