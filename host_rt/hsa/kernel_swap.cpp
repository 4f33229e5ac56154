#include "hsa/kernel_swap.h"

#include "base/careful_read.h"
#include "base/diagnostics.h"
#include "base/hip_helpers.h"
#include "dispatch/argument_list.h"
#include "fade/gpu.h"
#include "fade/sites.h"
#include "hsa/gpu_observer.h"
#include "hsa/packet_header.h"
#include "hsa/parted_pages.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

namespace fade {
namespace {

constexpr std::size_t kMostArgumentBytes = 4096;

/// What was fixed for the original is replaced; what the application added on top of it stays.
uint32_t exchangeFixed(uint32_t in_packet, uint32_t original, uint32_t replacement) {
  if (in_packet < original) return std::max(in_packet, replacement);
  return in_packet - original + replacement;
}

codeobj::DispatchFields fieldsOf(const DispatchPacket &packet, const QueueState &queue) {
  codeobj::DispatchFields fields;
  const DispatchShape shape = shapeOf(packet);
  fields.dimensions = shape.dimensions;
  for (std::size_t i = 0; i < 3; ++i) {
    fields.workgroup_size[i] = static_cast<uint16_t>(shape.workgroup[i]);
    fields.grid_size[i] = shape.grid[i];
  }
  fields.group_segment_size = packet.group_segment_size;
  fields.queue = reinterpret_cast<uint64_t>(queue.queue);
  return fields;
}

std::string whyNoRing(RingPool *rings) {
  return rings ? rings->whyNone() : "its GPU has no memory that FADE could use for records";
}

std::string whyNotResident(const Residency &resident, const Replacement &choice) {
  return fmt::format("it is launched cooperatively, and {} takes more registers or LDS: {} of its "
                     "{} workgroups fit at once",
                     choice.instrumented ? "its instrumented form" : "the other version",
                     resident.replacement, resident.workgroups);
}

/// By what irregular accesses are added up: as analyzers would.
uint32_t irregularFor(std::string_view target) {
  uint32_t line = kUsualLine, banks = kUsualBanks;
  if (const GpuInfo *gpu = findGpu(target)) {
    if (gpu->unit.line != 0) line = gpu->unit.line;
    if (gpu->unit.lds_banks != 0) banks = gpu->unit.lds_banks;
  }
  const auto shift = [](uint32_t n) { return static_cast<uint32_t>(std::countr_zero(n)); };
  if (!std::has_single_bit(line) || !std::has_single_bit(banks) || banks > 64) return 0;
  return FADE_IRREGULAR(shift(line), shift(banks));
}

} // namespace

/// Of its records, going by dispatches of the same kernel that have ended.
uint64_t KernelSwap::expectedBytes() const {
  const double bytes = kernel_->bytes_per_item.load(std::memory_order_relaxed);
  if (bytes < 0) return UINT64_MAX;
  return static_cast<uint64_t>(std::min(bytes * static_cast<double>(shape_.items()), 1e18));
}

/// Once, for all who want them: they may be in a card's memory, where each load crosses the bus.
/// False if the host cannot read them, as where nothing but the GPU may.
bool KernelSwap::readArguments() {
  if (!packet_.kernarg_address) return true;
  arguments_.resize(kernel_->device.kernarg_size);
  if (readCarefully(arguments_.data(), reinterpret_cast<uint64_t>(packet_.kernarg_address),
                    arguments_.size()))
    return true;
  arguments_.clear();
  return false;
}

/// What handlers are told of the application's memory: what there is, and what the kernel was
/// given.
void KernelSwap::addMemory(DispatchRecord &record) const {
  if (instrumentation_.analysis().needs() & FADE_NEEDS_ALLOCATIONS)
    record.setAllocations(services_.allocations.snapshot(services_.deaths));
  if (!kernel_->code || arguments_.empty()) return;
  std::call_once(kernel_->arguments_once, [&] {
    kernel_->arguments = argumentsOf(*kernel_->code, kernel_->info->symbol());
  });
  if (!kernel_->arguments) return;
  const auto block = std::as_bytes(std::span(arguments_))
                         .first(std::min<std::size_t>(arguments_.size(), kMostArgumentBytes));
  record.setArguments(DispatchArguments::read(kernel_->arguments, block, record.allocations.get()));
}

/// Whether workgroups may wait for all others: they come by a queue for that, or an argument of
/// theirs says so.
bool KernelSwap::isCooperative(const Replacement &choice) const {
  if (queue_.cooperative || queue_.queue->type == HSA_QUEUE_TYPE_COOPERATIVE) return true;
  if (!choice.cooperative_offset) return false;
  uint64_t sync = 0;
  if (arguments_.size() < *choice.cooperative_offset + sizeof sync) return false;
  std::memcpy(&sync, arguments_.data() + *choice.cooperative_offset, sizeof sync);
  return sync != 0;
}

std::optional<Residency> KernelSwap::residency(const Replacement &choice) const {
  if (!choice.needs) return std::nullopt;
  ResidentLaunch launch;
  launch.workgroups = launch.workgroup_size = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint32_t>(shape_.workgroup[i], 1);
    launch.workgroups *= (shape_.grid[i] + size - 1) / size;
    launch.workgroup_size *= static_cast<unsigned>(size);
  }
  launch.original_lds = packet_.group_segment_size;
  launch.replacement_lds = exchangeFixed(packet_.group_segment_size, kernel_->device.group_size,
                                         choice.kernel.group_size);
  launch.compute_units = queue_.agent->compute_units;
  return residencyOf(*choice.needs, launch);
}

void KernelSwap::skip(const std::string &reason) const {
  // Nobody asked for HIP's own kernels.
  if (!isHipHelper(kernel_->info->symbol()))
    instrumentation_.skipped(kernel_->info->name(), reason);
}

void KernelSwap::run(HsaDispatch &live, uint64_t ordinal) {
  if (SamplePlan *plan = instrumentation_.samplePlan();
      plan && !isHipHelper(kernel_->info->symbol())) {
    live.record->sample = plan->next(packet_.kernel_object, {shape_.grid, shape_.workgroup});
    live.record->was_passed_over = live.record->sample == 0;
    if (live.record->was_passed_over) return;
  }
  const ReplacementPlan &plan = instrumentation_.planOf(*kernel_);
  const Observe observing = instrumentation_.observing();
  // Where the pass was used, what has no twin was left out on purpose; and who has a kernel cache
  // is to hear why it was not used.
  const bool was_left_alone = plan.choices.empty() && !instrumentation_.hasCache() &&
                              kernel_->code &&
                              !LoadedCode::mayBeInstrumented(kernel_->code->bytes());
  const bool counts_instructions =
      (instrumentation_.analysis().needs() & FADE_NEEDS_INSTRUCTIONS) != 0;
  if (observing == Observe::gpu ||
      (observing == Observe::automatic && (was_left_alone || counts_instructions))) {
    observe(live);
    return;
  }
  if (plan.choices.empty()) return skip(plan.reason);
  if (shape_.has_clusters) return skip("it is launched in clusters of workgroups");
  const Replacement &choice = plan.choices[(ordinal - 1) % plan.choices.size()];
  if (choice.was_rewritten &&
      (!instrumentation_.workgroups().wantsAllWorkgroups() || live.record->sample > 1))
    return skip("rewritten kernels count all workgroups, not a part of them");
  if (choice.was_rewritten && instrumentation_.workgroups().sample_executions > 1)
    return skip("rewritten kernels record all executions, not a part of them");
  if (!readArguments()) return skip("its arguments are in memory that the host cannot read");
  const auto resident = residency(choice);
  if (resident && resident->isLost()) {
    if (isCooperative(choice)) return skip(whyNotResident(*resident, choice));
    live.watched.residency = *resident; // if it is persistent, it does not end
  }
  if (!(choice.instrumented ? instrument(live, choice) : exchange(live, choice))) return;
  packet_.kernel_object = choice.kernel.object;
  packet_.group_segment_size = exchangeFixed(packet_.group_segment_size, kernel_->device.group_size,
                                             choice.kernel.group_size);
  packet_.private_segment_size = exchangeFixed(
      packet_.private_segment_size, kernel_->device.private_size, choice.kernel.private_size);
  live.record->setKernel(choice.info);
  live.record->setVariant(choice.variant);
}

bool KernelSwap::countsBySite(const KernelInfo &kernel) const {
  return (kernel.modes() & FADE_MODE_COUNTS) != 0 ||
         instrumentation_.workgroups().sample_executions > 1;
}

/// What a kernel needs that can add its accesses up.
CounterRoom KernelSwap::roomForSums(const DispatchRecord &record, const Replacement &choice) const {
  const KernelInfo &kernel = *choice.info;
  CounterRoom room;
  room.by_site = countsBySite(kernel) ? kernel.siteCount() : 0;
  room.request.site_count = kernel.siteCount();
  room.request.wave_size = 32; // of those that a kernel may have, the smaller
  room.request.records_only = instrumentation_.wantsRecords();
  if (const GpuInfo *gpu = findGpu(kernel.target()); gpu && gpu->unit.line != 0)
    room.request.line = std::max<uint32_t>(room.request.line, gpu->unit.line);
  else
    room.request.line = kUsualLine;
  // Rewritten kernels record what has no class.
  if (!room.request.records_only && instrumentation_.analysis().takesSums() &&
      !choice.was_rewritten)
    room.request.irregular = irregularFor(kernel.target());
  for (std::size_t i = 0; i < 3; ++i) {
    room.request.grid[i] = std::max<uint32_t>(record.view.grid[i], 1);
    room.request.workgroup[i] = std::max<uint32_t>(record.view.workgroup[i], 1);
  }
  room.request.page = room.request.records_only ? 0 : instrumentation_.analysis().summaryPage();
  if (room.request.page != 0)
    room.request.parted = partedPages(record.allocations, room.request.page);
  room.sums = SummaryLayout::of(room.request);
  room.sample = record.sample;
  room.module = kernel.sites()->table.moduleId();
  room.kernel = kernel.kernelIndex();
  return room;
}

/// Gives the instrumented kernel a ring and its arguments.
bool KernelSwap::instrument(HsaDispatch &live, const Replacement &choice) {
  const bool counts = countsBySite(*choice.info);
  addMemory(*live.record); // how accesses are added up depends on it
  HsaRing *ring = nullptr;
  RingPool *rings = choice.was_rewritten && queue_.rings && !choice.info->hasNoStream()
                        ? instrumentation_.pools().rings(*queue_.agent, RingUse::rewritten)
                        : queue_.rings;
  if (rings && choice.info->sums()) {
    const CounterRoom room = roomForSums(*live.record, choice);
    if (room.sums.copies == 0) return skip("it has too many waves for summaries"), false;
    ring = rings->take(expectedBytes(), room);
  } else if (rings && choice.info->hasNoStream())
    ring = rings->take(0, {.copies = CounterCopies::of(choice.info->counterCount()),
                           .sample = live.record->sample});
  else if (rings)
    ring = rings->take(expectedBytes(), {.by_site = counts ? choice.info->siteCount() : 0,
                                         .sample = live.record->sample});
  const auto block = ring ? ring->kernargs(choice.twin_kernargs->size()) : std::span<uint8_t>();
  if (block.empty()) {
    skip(ring ? "no memory for its arguments" : whyNoRing(queue_.rings));
    if (ring) ring->giveBackUnused();
    return false;
  }
  choice.twin_kernargs->build(arguments_, fieldsOf(packet_, queue_), ring->controlAddress(), block);
  packet_.kernarg_address = block.data();
  // The control block came by a copy engine, and the host reads what the kernel leaves there.
  packet_.header = withSystemScope(packet_.header);
  live.ring = ring;
  live.record->view.flags |= FADE_DISPATCH_INSTRUMENTED;
  if (services_.deaths) live.record->last = std::make_shared<LastRecords>();
  return true;
}

/// The kernel runs as it is. The software GPU tells what it does, and the records of that go into a
/// ring as if it had written them.
bool KernelSwap::observe(HsaDispatch &live) {
  if (isHipHelper(kernel_->info->symbol())) return false;
  const uint32_t needs = instrumentation_.analysis().needs();
  const ObservedParts parts{.blocks = (needs & (FADE_NEEDS_BLOCKS | FADE_NEEDS_COUNTS)) != 0,
                            .instructions = (needs & FADE_NEEDS_INSTRUCTIONS) != 0};
  auto kernel = instrumentation_.observedKernels().find(kernel_, services_.registry, parts);
  if (!kernel) {
    skip("it cannot be observed: " + kernel.error().message());
    return false;
  }
  const bool counts = parts.instructions || instrumentation_.workgroups().sample_executions > 1;
  // Of small rings there are as many as dispatches in flight, and each would get memory for counts.
  const uint64_t bytes = parts.instructions ? UINT64_MAX : expectedBytes();
  RingPool *rings = queue_.rings ? instrumentation_.observedRings(*queue_.agent) : nullptr;
  const CounterRoom room{.by_site = counts ? (*kernel)->info->siteCount() : 0,
                         .sample = live.record->sample};
  HsaRing *ring = rings ? rings->take(bytes, room) : nullptr;
  if (!ring) {
    skip(whyNoRing(rings));
    return false;
  }
  // Who counts instructions and nothing else can do without records. A recording has all.
  const bool wants_accesses =
      (needs & FADE_NEEDS_ACCESSES) != 0 || needs == 0 || instrumentation_.isRecording();
  static const auto observed = std::make_shared<const std::string>("observed");
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    warn("kernels are observed on the software GPU, as compiled (--observe)");
  ExpectedDispatches::instance().expect(
      packet_.completion_signal.handle,
      {ring->controlAddress(), *kernel, wants_accesses, (needs & FADE_NEEDS_WAVES) != 0});
  live.ring = ring;
  live.record->view.flags |= FADE_DISPATCH_INSTRUMENTED;
  (void)readArguments(); // without them it can be observed as well
  addMemory(*live.record);
  live.record->setKernel((*kernel)->info);
  live.record->setVariant(observed);
  return true;
}

/// Gives another version of the kernel its arguments.
bool KernelSwap::exchange(HsaDispatch &live, const Replacement &choice) {
  const codeobj::VariantKernargs &kernargs = *choice.variant_kernargs;
  if (kernargs.isSame()) return true;
  KernargPool *pool = instrumentation_.pools().kernargs(*queue_.agent);
  const auto block = pool ? pool->take(kernargs.size()) : std::span<uint8_t>();
  if (block.empty()) {
    skip("no memory for its arguments");
    return false;
  }
  kernargs.build(arguments_, fieldsOf(packet_, queue_), block);
  packet_.kernarg_address = block.data();
  live.keepKernargs(*pool, block);
  return true;
}

} // namespace fade
