#include "hsa/operations.h"

#include "base/careful_read.h"
#include "dispatch/kernel_registry.h"
#include "hip/recorder.h"
#include "hsa/agents.h"
#include "hsa/allocations.h"
#include "hsa/executed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>

namespace fade {
namespace {

constexpr uint64_t kAskAfter = 1'000'000'000; // ns
constexpr int64_t kUncertainty = 2'000;       // a smaller difference is no news

std::atomic<int64_t> offset{0}; ///< CLOCK_MONOTONIC minus the runtime's clock
std::atomic<uint64_t> asked{0};

uint64_t ticksPerSecond() {
  static const uint64_t frequency = [] {
    uint64_t value = 0;
    (void)hsaApi().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &value);
    return value == 0 ? 1'000'000'000 : value;
  }();
  return frequency;
}

/// The runtime's clock between two looks at ours, as close together as can be had.
void measureOffset(uint64_t now) noexcept {
  uint64_t narrowest = UINT64_MAX;
  int64_t found = 0;
  for (int i = 0; i < 5; ++i) {
    uint64_t ticks = 0;
    const uint64_t before = hip::nowNs();
    if (!ok(hsaApi().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP, &ticks))) return;
    const uint64_t after = hip::nowNs();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    found =
        static_cast<int64_t>(before + narrowest / 2) - static_cast<int64_t>(nanosecondsOf(ticks));
  }
  const bool is_first = asked.exchange(now) == 0;
  if (is_first || std::abs(found - offset.load()) > kUncertainty) offset.store(found);
}

void recordCode(const KernelEntry &kernel, uint64_t name) noexcept {
  events::KernelEvent event{};
  event.header.kind = events::EventKind::kernel;
  event.vgprs = kernel.facts->vgprs;
  event.agprs = kernel.facts->agprs;
  event.sgprs = kernel.facts->sgprs;
  event.spilled_vgprs = kernel.facts->spilled_vgprs;
  event.spilled_sgprs = kernel.facts->spilled_sgprs;
  event.kernarg_bytes = kernel.device.kernarg_size;
  event.name = name;
  const std::string &module = kernel.info->module();
  std::from_chars(module.data(), module.data() + module.size(), event.module, 16);
  (void)hip::recordEvent(event);
}

} // namespace

uint64_t nanosecondsOf(uint64_t ticks) noexcept {
  if (ticksPerSecond() == 1'000'000'000) return ticks;
  return static_cast<uint64_t>(static_cast<long double>(ticks) * 1e9L /
                               static_cast<long double>(ticksPerSecond()));
}

uint64_t monotonicOf(uint64_t hsa_ns) noexcept {
  const uint64_t now = hip::roughlyNowNs();
  if (const uint64_t last = asked.load(); last == 0 || now > last + kAskAfter) measureOffset(now);
  return hsa_ns + static_cast<uint64_t>(offset.load());
}

std::optional<BlitPlaces> blitPlaces(const KernelEntry *kernel, const void *arguments,
                                     AllocationTable &allocations) noexcept {
  if (!kernel || !kernel->facts || !kernel->facts->blit || !arguments) return std::nullopt;
  std::array<std::byte, 256> block;
  const uint32_t size = kernel->facts->blit->argumentBytes();
  if (size > block.size() || size > kernel->device.kernarg_size ||
      !readCarefully(block.data(), reinterpret_cast<uint64_t>(arguments), size))
    return std::nullopt;
  const auto blit = kernel->facts->blit->read(std::span(block).first(size));
  if (!blit) return std::nullopt;
  BlitPlaces places{*blit, events::Direction::none};
  if (blit->from == 0) return places;
  const auto from_host = allocations.isOnHost(blit->from), to_host = allocations.isOnHost(blit->to);
  if (from_host && to_host)
    places.direction =
        *from_host
            ? (*to_host ? events::Direction::host_to_host : events::Direction::host_to_device)
            : (*to_host ? events::Direction::device_to_host : events::Direction::device_to_device);
  return places;
}

uint64_t recordKernel(const Agent &agent, const DispatchRecord &record, KernelEntry *kernel,
                      uint32_t private_bytes, uint64_t call, uint64_t packet,
                      const std::optional<BlitPlaces> &blit) noexcept {
  events::OperationEvent event{};
  event.header.kind = events::EventKind::operation;
  event.kind = events::OperationKind::kernel;
  event.call = call;
  event.submitted_ns = hip::nowNs();
  if (isSoftwareGpu()) event.flags |= events::kOperationSoftware;
  event.agent = agent.number;
  event.gpu = static_cast<uint8_t>(agent.gpu);
  event.queue = static_cast<uint32_t>(record.view.queue);
  event.sequence = packet;
  if (kernel) event.name = kernel->text.load(std::memory_order_relaxed);
  if (event.name == 0) {
    event.name = hip::recordText(record.kernel->name(), record.kernel->module());
    if (kernel) {
      kernel->text.store(event.name, std::memory_order_relaxed);
      if (kernel->facts) recordCode(*kernel, event.name);
    }
  }
  std::copy_n(record.view.grid, 3, event.grid);
  std::copy_n(record.view.workgroup, 3, event.workgroup);
  event.lds_bytes = record.view.group_segment;
  event.private_bytes = private_bytes;
  if (blit) {
    event.flags |= events::kOperationBlit;
    event.bytes = blit->bytes;
    event.to = blit->to;
    event.from = blit->from;
    event.direction = blit->direction;
  }
  hip::recordUsage(event.submitted_ns, false);
  return hip::recordEvent(event);
}

void recordOperationEnd(uint64_t operation, uint16_t flags, uint64_t start_ns,
                        uint64_t end_ns) noexcept {
  if (operation == 0) return;
  events::OperationEndEvent event{};
  event.header.kind = events::EventKind::operation_end;
  event.flags = flags;
  event.operation = operation;
  if (start_ns != 0 && end_ns >= start_ns) {
    event.flags |= events::kOperationTimes;
    event.start_ns = monotonicOf(start_ns);
    event.end_ns = event.start_ns + (end_ns - start_ns);
  }
  (void)hip::recordEvent(event);
}

} // namespace fade
