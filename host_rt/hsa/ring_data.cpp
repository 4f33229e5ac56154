#include "hsa/ring_data.h"

#include <cstring>
#include <utility>

namespace fade {

// A copy engine reads memory, and what a wave wrote may still lie in the GPU's L2. Fine-grained
// memory is not kept there. Of coarse-grained memory, a release at system scope writes it back on
// gfx90a and gfx94x, and from gfx10 on the runtime has it written back before each copy. On older
// ones nothing does before the kernel has ended.
hsa_amd_memory_pool_t copiedPool(const Agent &gpu) {
  return gpu.fine_device_pool ? *gpu.fine_device_pool : *gpu.device_pool;
}

bool copiesWhatIsWritten(const Agent &gpu) {
  const bool is_before_gfx10 = gpu.target.size() == 6; // gfx90a
  const bool writes_back =
      gpu.target == "gfx90a" || gpu.target.starts_with("gfx94") || gpu.target.starts_with("gfx95");
  return gpu.fine_device_pool || !is_before_gfx10 || writes_back;
}

void HostRingData::describe(fade_control &control) const noexcept {
  control.data = reinterpret_cast<uint64_t>(host_.bytes);
}

bool HostRingData::restart(bool is_dirty) noexcept {
  // A kernel that was aborted, or wrote where it should not, leaves more than zeros behind.
  if (is_dirty) std::memset(host_.bytes, 0, capacity_ + FADE_RING_SLACK);
  return true;
}

std::unique_ptr<DeviceRingData> DeviceRingData::make(const Agent &gpu, const Agent &cpu,
                                                     const RingHostMemory &host,
                                                     uint64_t capacity) {
  void *data = allocateFor(copiedPool(gpu), capacity + FADE_RING_SLACK, gpu.handle);
  if (!data) return nullptr;
  SegmentedRing ring;
  ring.data = reinterpret_cast<uint64_t>(data);
  ring.written = reinterpret_cast<uint64_t>(&host.device_control->written);
  ring.head = reinterpret_cast<uint64_t>(&host.device_control->control.head);
  ring.mirror = host.bytes;
  ring.staging = host.staging;
  ring.capacity = capacity;
  ring.segment_shift = SegmentedRing::segmentShift(capacity);
  std::unique_ptr<DeviceRingData> made(new DeviceRingData(gpu, cpu, ring));
  if (made->engine_.create()) return made;
  made->destroySignals();
  made->freeMemory();
  return nullptr;
}

void DeviceRingData::describe(fade_control &control) const noexcept {
  control.flags |= FADE_CONTROL_SEGMENTED;
  control.data = ring_.data;
  control.written = ring_.written;
  control.segment_shift = ring_.segment_shift;
}

bool DeviceRingData::restart(bool) noexcept {
  if (!std::exchange(is_stopping_, true)) {
    is_broken_ |= reader_.failed();
    reader_.giveUp();
  }
  reader_.step();
  if (!reader_.isIdle()) return false;
  reader_.restart();
  is_stopping_ = false;
  return true;
}

void DeviceRingData::freeMemory() noexcept {
  fade::freeMemory(reinterpret_cast<void *>(ring_.data));
}

} // namespace fade
