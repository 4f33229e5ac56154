#include "hsa/ring_data.h"

#include "fade/gpu.h"

#include <cstring>
#include <utility>

namespace fade {

bool copiesWhatIsWritten(const Agent &gpu) {
  const GpuInfo *known = findGpu(gpu.target);
  return gpu.fine_device_pool || !known || known->unit.writes_back_l2; // so do all recent ones
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
                                                     OwnMemory &memory, const RingHostMemory &host,
                                                     uint64_t capacity) {
  std::byte *data = memory.allocate(capacity + FADE_RING_SLACK);
  if (!data) return nullptr;
  SegmentedRing ring;
  ring.data = reinterpret_cast<uint64_t>(data);
  ring.written = reinterpret_cast<uint64_t>(&host.device_control->written);
  ring.head = reinterpret_cast<uint64_t>(&host.device_control->control.head);
  ring.mirror = host.bytes;
  ring.staging = host.staging;
  ring.capacity = capacity;
  ring.segment_shift = SegmentedRing::segmentShift(capacity);
  std::unique_ptr<DeviceRingData> made(new DeviceRingData(gpu, cpu, memory, ring));
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

void DeviceRingData::freeMemory() noexcept { memory_.free(reinterpret_cast<void *>(ring_.data)); }

} // namespace fade
