// The driver of one process: devices, buffers, events, and the ioctls by which the runtime reaches
// them.
#pragma once

#include "device/gpu.h"
#include "kfd/allocations.h"
#include "kfd/cards.h"
#include "kfd/device_file.h"
#include "kfd/events.h"
#include "kfd/svm_ranges.h"
#include "kfd/topology.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fade::sim::kfd {

class Driver {
public:
  // Descriptors that are ours: /dev/kfd, or the render node of a GPU.
  struct Node {
    bool is_kfd = false;
    size_t gpu = 0;
  };

  // No cards: a driver without any device. `stats_path` may be empty.
  Driver(std::vector<Card> cards, const HostMachine &host, const std::string &stats_path);
  ~Driver();

  const VirtualFiles &files() const { return files_; }
  bool has_gpu() const { return !gpus_.empty(); }
  // A new descriptor of a device node, -errno when it is none.
  int open_device(const VirtualNode &node) const;
  std::optional<Node> node_of(dev_t device, ino_t inode) const;
  dev_t device_number(const Node &node) const;

  // As the system call: 0 or more on success, -errno on failure.
  int ioctl(const Node &node, unsigned long request, void *argument);
  // The host gave up this range: what shared virtual memory lay there is gone.
  void host_unmapped(uint64_t address, uint64_t size);
  // Whether a card's own memory is at that address, which is the same for host and GPU.
  bool is_vram(uint64_t address) const;

private:
  int kfd_ioctl(uint8_t number, void *argument);
  int drm_ioctl(size_t gpu, uint8_t number, void *argument);

  // kfd_ioctls.cpp; all return 0 or an errno
  int create_queue(kfd_ioctl_create_queue_args &args);
  int destroy_queue(uint32_t id);
  int update_queue(const kfd_ioctl_update_queue_args &args);
  int create_event(kfd_ioctl_create_event_args &args);
  int process_apertures(kfd_ioctl_get_process_apertures_new_args &args) const;
  int process_apertures_old(kfd_ioctl_get_process_apertures_args &args) const;
  void trace_buffer(uint64_t handle) const;
  int allocate(kfd_ioctl_alloc_memory_of_gpu_args &args);
  int map_memory(kfd_ioctl_map_memory_to_gpu_args &args);
  int unmap_memory(kfd_ioctl_unmap_memory_from_gpu_args &args);
  int shared_virtual_memory(kfd_ioctl_svm_args &args);
  int export_ipc(IpcExport &args);
  int import_ipc(IpcImport &args);
  int export_dmabuf(ExportDmabuf &args);
  int import_dmabuf(kfd_ioctl_import_dmabuf_args &args);
  int dmabuf_info(kfd_ioctl_get_dmabuf_info_args &args);
  kfd_process_device_apertures apertures_of(size_t gpu) const;
  std::optional<size_t> gpu_of(uint32_t id) const;
  std::optional<uint64_t> buffer_of_dmabuf(int fd) const;

  // drm_ioctls.cpp
  std::optional<uint64_t> open_dmabuf(size_t gpu, int fd);
  int drm_version(void *argument) const;
  int amdgpu_info(size_t gpu, void *argument);
  int gem_va(size_t gpu, void *argument);
  int gem_metadata(void *argument);
  int gem_op(void *argument);

  std::vector<Card> cards_;
  HostMachine host_;
  VirtualFiles files_;
  DeviceFile device_file_;
  Events events_;
  std::unique_ptr<StatsLog> stats_;
  DoorbellPoller poller_;
  std::vector<std::unique_ptr<Gpu>> gpus_;

  std::mutex mutex_; // of all below; never held while a queue is waited for
  Allocations allocations_;
  SvmRanges svm_;
  std::map<uint32_t, size_t> queues_; // id -> GPU
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const FileId &) const = default;
  };
  std::map<FileId, Node> nodes_;
  std::map<FileId, uint64_t> dmabufs_; // exported descriptor -> buffer handle
  std::set<uint64_t> opened_;          // handles of other processes' descriptors
};

} // namespace fade::sim::kfd
