#include "kfd/allocations.h"

#include "base/failures.h"
#include "base/trace.h"
#include "kfd/memory_types.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace fade::sim::kfd {
namespace {

bool in_vram(uint32_t flags) { return flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM; }
bool in_host_memory(uint32_t flags) {
  return flags & (KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
}

} // namespace

bool host_has(uint64_t address, uint64_t size) {
  static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t at = address & ~(page - 1), end = address + size;
  if (end < address) return false;
  unsigned char present[4096];
  while (at < end) {
    uint64_t n = std::min<uint64_t>((end - at + page - 1) / page, sizeof present);
    if (mincore(reinterpret_cast<void *>(at), n * page, present) != 0) return false;
    at += n * page;
  }
  return true;
}

Allocations::Allocations(std::vector<std::unique_ptr<Gpu>> &gpus, const std::vector<Card> &cards,
                         const DeviceFile &device_file, uint64_t host_bytes)
    : gpus_(gpus), cards_(cards), device_file_(device_file), host_bytes_(host_bytes),
      vram_used_(cards.size(), 0) {}

uint64_t Allocations::vram_free(size_t gpu) const {
  return cards_[gpu].vram_bytes() - vram_used_[gpu];
}

bool Allocations::takes_host_memory(const Buffer &b) const {
  return in_host_memory(b.flags) || (in_vram(b.flags) && cards_[b.gpu].is_apu);
}

const Allocations::Buffer *Allocations::find(uint64_t handle) const {
  auto it = buffers_.find(handle);
  return it == buffers_.end() ? nullptr : &it->second;
}

// Finds bytes for the buffer and says where the host will find them.
int Allocations::place(Buffer &b, kfd_ioctl_alloc_memory_of_gpu_args &args) {
  if (in_vram(b.flags) || b.flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT) {
    auto offset = gpus_[b.gpu]->store().take(b.size);
    if (!offset) return ENOMEM;
    b.offset = args.mmap_offset = *offset;
    b.stored = true;
    b.host = gpus_[b.gpu]->store().at(*offset);
  } else if (b.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
    if (!host_has(args.mmap_offset, b.size)) return EFAULT;
    b.host = reinterpret_cast<std::byte *>(args.mmap_offset);
  } else if (b.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
    if (b.size > DeviceFile::doorbell_bytes) return EINVAL;
    args.mmap_offset = DeviceFile::doorbell_offset(b.gpu);
    b.host = device_file_.doorbell_page(b.gpu);
  } else if (b.flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
    if (b.size > 0x10000) return EINVAL;
    args.mmap_offset = DeviceFile::register_offset(b.gpu);
    b.host = device_file_.register_page(b.gpu);
  } else {
    return EINVAL;
  }
  return 0;
}

// One line for FADE_GPU_TRACE=allocations.
void Allocations::log(const Buffer &b) {
  constexpr uint32_t extended = 1u << 24; // coherent in a wider scope; not in all kernel headers
  const char *place = in_vram(b.flags)                            ? "vram"
                      : b.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ? "userptr"
                                                                  : "gtt";
  say("allocate %" PRIu64 " bytes at 0x%" PRIx64 ": %s%s%s%s%s", b.size, b.va, place,
      b.flags & KFD_IOC_ALLOC_MEM_FLAGS_COHERENT ? " coherent" : "",
      b.flags & extended ? " extended" : "",
      b.flags & KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED ? " uncached" : "",
      b.flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE ? " executable" : "");
}

int Allocations::allocate(size_t gpu, kfd_ioctl_alloc_memory_of_gpu_args &args) {
  Buffer b;
  b.gpu = b.owner = gpu;
  b.va = args.va_addr;
  b.size = args.size;
  b.flags = args.flags;
  if (!b.size || b.size > (uint64_t{1} << 47)) return EINVAL;
  const bool is_memory = in_vram(b.flags) || in_host_memory(b.flags);
  if (is_memory && trace().allocations) log(b);
  if (is_memory && failures().refuses(Failure::allocation, b.size)) return ENOMEM;
  uint64_t taken = BackingStore::round_up(b.size);
  if (in_vram(b.flags) && taken > vram_free(gpu)) return ENOMEM;
  if (takes_host_memory(b) && taken > host_bytes_ - std::min(host_used_, host_bytes_))
    return ENOMEM;
  if (int error = place(b, args)) return error;
  if (in_vram(b.flags)) vram_used_[gpu] += taken;
  if (takes_host_memory(b)) host_used_ += taken;
  args.handle = next_handle_++;
  buffers_.emplace(args.handle, std::move(b));
  return 0;
}

bool Allocations::note(uint64_t handle, std::string metadata) {
  auto it = buffers_.find(handle);
  if (it == buffers_.end()) return false;
  it->second.metadata = std::move(metadata);
  return true;
}

void Allocations::unmap_everywhere(Buffer &b) {
  for (size_t gpu : b.mapped) gpus_[gpu]->address_space().unmap(b.va, b.size);
  b.mapped.clear();
}

int Allocations::release(uint64_t handle) {
  auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  Buffer &b = it->second;
  unmap_everywhere(b);
  if (b.file >= 0) close(b.file);
  if (b.imported && !b.va)
    munmap(b.host, b.size);
  else if (b.imported) // the address stays reserved, as it was
    mmap(reinterpret_cast<void *>(b.va), b.size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (!b.borrowed) {
    uint64_t taken = BackingStore::round_up(b.size);
    if (b.stored) gpus_[b.gpu]->store().release(b.offset, b.size);
    if (in_vram(b.flags)) vram_used_[b.gpu] -= taken;
    if (takes_host_memory(b)) host_used_ -= taken;
  }
  buffers_.erase(it);
  return 0;
}

Caching Allocations::caching(const Buffer &b, size_t gpu) const {
  return caching_of(gpus_[gpu]->arch(), b.flags, b.owner == gpu);
}

int Allocations::map(uint64_t handle, size_t gpu) {
  auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  Buffer &b = it->second;
  if (!b.va || b.mapped.contains(gpu))
    return 0; // without an address it is mapped part by part later
  // The thunk has mapped it, too, through its descriptor of the GPU, which has other bytes there.
  if (b.imported && mmap(b.host, b.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, b.file,
                         static_cast<off_t>(b.offset)) == MAP_FAILED)
    return errno;
  gpus_[gpu]->address_space().map(b.va, b.size, b.host, b.flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
                                  in_vram(b.flags), caching(b, gpu));
  b.mapped.insert(gpu);
  return 0;
}

int Allocations::unmap(uint64_t handle, size_t gpu) {
  auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  if (it->second.mapped.erase(gpu))
    gpus_[gpu]->address_space().unmap(it->second.va, it->second.size);
  return 0;
}

int Allocations::alias(uint64_t handle, size_t gpu, uint64_t va, uint64_t &new_handle) {
  const Buffer *owner = find(handle);
  if (!owner) return EINVAL;
  Buffer b = *owner;
  b.gpu = gpu;
  b.va = va;
  b.borrowed = true;
  b.imported = false;
  b.file = -1;
  b.mapped.clear();
  new_handle = next_handle_++;
  buffers_.emplace(new_handle, std::move(b));
  return 0;
}

std::string NamedBuffer::name() const {
  char text[64];
  std::snprintf(text, sizeof text, "dmabuf %x %x %x %x %x", gpu, buffer.words[0], buffer.words[1],
                buffer.words[2], buffer.words[3]);
  return text;
}

std::optional<NamedBuffer> NamedBuffer::of(int fd) {
  char path[32], target[96] = "";
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (readlink(path, target, sizeof target - 1) < 0) return std::nullopt;
  NamedBuffer named;
  auto &words = named.buffer.words;
  if (std::sscanf(target, "/memfd:dmabuf %x %x %x %x %x", &named.gpu, &words[0], &words[1],
                  &words[2], &words[3]) != 5)
    return std::nullopt;
  return named;
}

std::optional<SharedBuffer> Allocations::shared(const Buffer &b) const {
  auto pid = static_cast<uint32_t>(getpid());
  auto fd = static_cast<uint32_t>(gpus_[b.owner]->store().fd());
  if (!b.stored || b.borrowed || b.offset % SharedBuffer::page != 0 ||
      pid >> SharedBuffer::pid_bits != 0 || fd >> SharedBuffer::fd_bits != 0)
    return std::nullopt;
  const uint64_t size = BackingStore::round_up(b.size);
  if (b.offset / SharedBuffer::page > UINT32_MAX || size / SharedBuffer::page > UINT32_MAX)
    return std::nullopt;
  return SharedBuffer{{pid | fd << SharedBuffer::pid_bits, b.flags,
                       static_cast<uint32_t>(b.offset / SharedBuffer::page),
                       static_cast<uint32_t>(size / SharedBuffer::page)}};
}

int Allocations::import(size_t gpu, uint64_t va, const SharedBuffer &from, uint64_t &new_handle) {
  char path[64], target[64] = "";
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", from.pid(), from.fd());
  if (va % SharedBuffer::page != 0 || from.size() == 0) return EINVAL;
  // Whatever the handle says: only memory of a GPU like this one is opened. Not by open(), which
  // is hooked.
  constexpr std::string_view memory = "/memfd:";
  if (readlink(path, target, sizeof target - 1) < 0 ||
      !std::string_view(target).starts_with(memory))
    return EINVAL;
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
  if (fd < 0) return errno;
  struct stat st {};
  int error = EINVAL;
  void *mapped = nullptr;
  if (fstat(fd, &st) == 0 && from.offset() + from.size() <= static_cast<uint64_t>(st.st_size)) {
    mapped = mmap(reinterpret_cast<void *>(va), from.size(), PROT_READ | PROT_WRITE,
                  MAP_SHARED | (va ? MAP_FIXED : 0), fd, static_cast<off_t>(from.offset()));
    error = mapped == MAP_FAILED ? errno : 0;
  }
  if (error) {
    close(fd);
    return error;
  }
  Buffer b;
  b.gpu = b.owner = gpu;
  b.va = va;
  b.size = from.size();
  b.flags = from.flags();
  b.host = static_cast<std::byte *>(mapped);
  b.offset = from.offset();
  b.file = fd;
  b.borrowed = b.imported = true;
  new_handle = next_handle_++;
  buffers_.emplace(new_handle, std::move(b));
  return 0;
}

int Allocations::map_part(uint64_t handle, size_t gpu, uint64_t va, uint64_t offset, uint64_t size,
                          bool writable) {
  const Buffer *b = find(handle);
  if (!b || offset > b->size || size > b->size - offset) return EINVAL;
  gpus_[gpu]->address_space().map(va, size, b->host + offset, writable, in_vram(b->flags),
                                  caching(*b, gpu));
  return 0;
}

} // namespace fade::sim::kfd
