#include "kfd/driver.h"

#include "base/failures.h"
#include "base/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace fade::sim::kfd {
namespace {

std::vector<uint32_t> gpu_ids(size_t count) {
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(gpu_id(i));
  return ids;
}

} // namespace

Driver::Driver(std::vector<Card> cards, const HostMachine &host, const std::string &stats_path)
    : cards_(std::move(cards)), host_(host), device_file_(cards_.size()),
      allocations_(gpus_, cards_, device_file_, host.memory_bytes), svm_(gpu_ids(cards_.size())) {
  if (cards_.empty()) return;
  if (!stats_path.empty()) stats_ = std::make_unique<StatsLog>(stats_path);
  bool complete = device_file_.ok();
  for (size_t i = 0; i < cards_.size() && complete; ++i) {
    // Twice of what may be allocated, so that holes between buffers do not matter.
    uint64_t space = 2 * (cards_[i].vram_bytes() + host.memory_bytes);
    Interrupts interrupts;
    interrupts.event = [this](uint32_t id) { events_.set(id); };
    interrupts.memory_fault = [this, i](uint64_t address, bool write) {
      kfd_hsa_memory_exception_data data{};
      data.gpu_id = gpu_id(i);
      data.va = address;
      // Whether it is there at all: a write to what may only be read is told apart.
      bool present = gpus_[i]->memory().find(address).has_value();
      data.failure.NotPresent = !present;
      data.failure.ReadOnly = present && write;
      events_.raise_memory_exception(data);
    };
    interrupts.reset = [this, i](bool is_ecc_error) {
      events_.raise_reset(gpu_id(i), is_ecc_error);
    };
    gpus_.push_back(std::make_unique<Gpu>(arch(cards_[i].gfx),
                                          "renderD" + std::to_string(render_minor(i)), space,
                                          poller_, stats_.get(), std::move(interrupts)));
    gpus_.back()->set_compute_units(cards_[i].compute_units());
    gpus_.back()->address_space().set_host_atomics(cards_[i].has_pcie_atomics || cards_[i].is_apu);
    complete = gpus_.back()->store().ok();
  }
  if (!complete) {
    say("cannot reserve address space for the GPU's memory: %s; this process sees no GPU",
        std::strerror(errno));
    gpus_.clear();
    cards_.clear();
    return;
  }
  files_ = describe(cards_, host_);
  struct stat st;
  if (fstat(device_file_.fd(), &st) == 0) nodes_[{st.st_dev, st.st_ino}] = {.is_kfd = true};
  for (size_t i = 0; i < gpus_.size(); ++i)
    if (fstat(gpus_[i]->store().fd(), &st) == 0)
      nodes_[{st.st_dev, st.st_ino}] = {.is_kfd = false, .gpu = i};
}

Driver::~Driver() = default;

int Driver::open_device(const VirtualNode &node) const {
  for (auto &[id, n] : nodes_) {
    if (device_number(n) != node.device_number) continue;
    if (n.is_kfd && failures().refuses(Failure::open)) return -EACCES;
    int fd = fcntl(n.is_kfd ? device_file_.fd() : gpus_[n.gpu]->store().fd(), F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? -errno : fd;
  }
  return -ENXIO;
}

std::optional<Driver::Node> Driver::node_of(dev_t device, ino_t inode) const {
  auto it = nodes_.find({device, inode});
  if (it == nodes_.end()) return std::nullopt;
  return it->second;
}

dev_t Driver::device_number(const Node &node) const {
  return node.is_kfd ? makedev(240, 0) : makedev(226, render_minor(node.gpu));
}

int Driver::ioctl(const Node &node, unsigned long request, void *argument) {
  uint8_t number = _IOC_NR(request);
  if (node.is_kfd && _IOC_TYPE(request) != 'K') return -ENOTTY;
  if (!node.is_kfd && _IOC_TYPE(request) != 'd') return -ENOTTY;
  int error = node.is_kfd ? kfd_ioctl(number, argument) : drm_ioctl(node.gpu, number, argument);
  if (trace().ioctls) {
    if (node.is_kfd)
      say("ioctl kfd %s: %s", name_of(number), error ? std::strerror(error) : "ok");
    else
      say("ioctl drm 0x%02x: %s", number, error ? std::strerror(error) : "ok");
  }
  return -error;
}

void Driver::host_unmapped(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  // Buffers in the same range are not the host's to unmap: they stay until they are freed.
  for (auto &part : svm_.remove(address, size))
    for (auto &gpu : gpus_) gpu->address_space().unmap(part.start, part.size);
}

bool Driver::is_vram(uint64_t address) const {
  return std::ranges::any_of(gpus_, [&](const auto &gpu) {
    const auto region = gpu->memory().find(address);
    return region && region->local;
  });
}

std::optional<size_t> Driver::gpu_of(uint32_t id) const {
  for (size_t i = 0; i < gpus_.size(); ++i)
    if (gpu_id(i) == id) return i;
  return std::nullopt;
}

} // namespace fade::sim::kfd
