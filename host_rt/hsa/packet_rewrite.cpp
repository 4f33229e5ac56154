#include "hsa/packet_rewrite.h"

#include "base/careful_read.h"
#include "base/diagnostics.h"
#include "dispatch/argument_list.h"
#include "fade/gpu.h"
#include "fade/sites.h"
#include "hip/recorder.h"
#include "hsa/executed.h"
#include "hsa/gpu_observer.h"
#include "hsa/live_dispatch.h"
#include "hsa/operations.h"
#include "hsa/packet_header.h"
#include "hsa/parted_pages.h"
#include "hsa/unseen.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
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

/// One dispatch packet between the application and the GPU.
class DispatchRewrite {
public:
  DispatchRewrite(Runtime &runtime, const std::shared_ptr<QueueState> &queue,
                  DispatchPacket &packet, uint64_t number, uint64_t index)
      : runtime_(runtime), queue_(queue), packet_(packet), shape_(shapeOf(packet)), number_(number),
        index_(index) {}

  void run();

private:
  void describe(DispatchRecord &record) const;
  bool isWanted(uint64_t ordinal) const;
  uint64_t expectedBytes() const;
  bool readArguments();
  bool isCooperative(const Replacement &choice) const;
  std::optional<Residency> residency(const Replacement &choice) const;
  void skip(const std::string &reason) const;
  void addMemory(DispatchRecord &record) const;
  void noteForDeath(DeathWatch &deaths, HsaDispatch &live, const void *arguments) const;
  void swap(HsaDispatch &live, uint64_t ordinal);
  bool countsBySite(const KernelInfo &kernel) const;
  CounterRoom roomForSums(const DispatchRecord &record, const Replacement &choice) const;
  bool instrument(HsaDispatch &live, const Replacement &choice);
  bool observe(HsaDispatch &live);
  bool exchange(HsaDispatch &live, const Replacement &choice);

  Runtime &runtime_;
  const std::shared_ptr<QueueState> &queue_;
  DispatchPacket &packet_;
  const DispatchShape shape_;
  const uint64_t number_; ///< among those passed on
  const uint64_t index_;  ///< in the application's queue
  std::shared_ptr<KernelEntry> kernel_;
  std::vector<uint8_t> arguments_; ///< a copy of the application's block, once it was read
};

void DispatchRewrite::describe(DispatchRecord &record) const {
  static const auto original = std::make_shared<const std::string>("original");
  if (kernel_) {
    record.setKernel(kernel_->info);
  } else {
    const std::string name = fmt::format("kernel object {:#x}", packet_.kernel_object);
    record.setKernel(runtime_.registry().info({0, name, name, queue_->agent->target, ""}));
  }
  record.setVariant(original);
  fade_dispatch &view = record.view;
  if (isSoftwareGpu()) view.flags |= FADE_DISPATCH_IN_SOFTWARE;
  view.id = runtime_.nextDispatch();
  view.queue = queue_->number;
  view.agent = queue_->agent->number;
  view.group_segment = packet_.group_segment_size;
  std::ranges::copy(shape_.grid, view.grid);
  std::ranges::copy(shape_.workgroup, view.workgroup);
}

bool DispatchRewrite::isWanted(uint64_t ordinal) const {
  return kernel_ && kernel_->is_chosen && runtime_.planner().isNeeded() &&
         runtime_.selection().wantsDispatch(kernel_->info->symbol(), ordinal);
}

/// Of its records, going by dispatches of the same kernel that have ended.
uint64_t DispatchRewrite::expectedBytes() const {
  const double bytes = kernel_->bytes_per_item.load(std::memory_order_relaxed);
  if (bytes < 0) return UINT64_MAX;
  return static_cast<uint64_t>(std::min(bytes * static_cast<double>(shape_.items()), 1e18));
}

/// Once, for all who want them: they may be in a card's memory, where each load crosses the bus.
/// False if the host cannot read them, as where nothing but the GPU may.
bool DispatchRewrite::readArguments() {
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
void DispatchRewrite::addMemory(DispatchRecord &record) const {
  if (runtime_.analysis().needs() & FADE_NEEDS_ALLOCATIONS)
    record.setAllocations(runtime_.allocations().snapshot(runtime_.deaths()));
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
bool DispatchRewrite::isCooperative(const Replacement &choice) const {
  if (queue_->cooperative || queue_->queue->type == HSA_QUEUE_TYPE_COOPERATIVE) return true;
  if (!choice.cooperative_offset) return false;
  uint64_t sync = 0;
  if (arguments_.size() < *choice.cooperative_offset + sizeof sync) return false;
  std::memcpy(&sync, arguments_.data() + *choice.cooperative_offset, sizeof sync);
  return sync != 0;
}

std::optional<Residency> DispatchRewrite::residency(const Replacement &choice) const {
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
  launch.compute_units = queue_->agent->compute_units;
  return residencyOf(*choice.needs, launch);
}

void DispatchRewrite::skip(const std::string &reason) const {
  // The helpers of the HIP runtime are nobody's kernels.
  if (!kernel_->info->symbol().starts_with("__amd_rocclr_"))
    runtime_.skipped(kernel_->info->name(), reason);
}

/// What will be wanted to be known of it if it does not end well.
void DispatchRewrite::noteForDeath(DeathWatch &deaths, HsaDispatch &live,
                                   const void *arguments) const {
  DeathWatch::Dispatch &note = live.watched;
  note.id = live.record->view.id;
  note.queue = queue_->number;
  note.agent = queue_->agent->number;
  note.kernel = live.record->kernel;
  note.records = live.record->last;
  note.adds_up = note.records && note.kernel && note.kernel->sums() && !runtime_.wantsRecords();
  for (std::size_t i = 0; i < 3; ++i) {
    note.grid[i] = static_cast<uint32_t>(live.record->view.grid[i]);
    note.workgroup[i] = static_cast<uint32_t>(live.record->view.workgroup[i]);
  }
  note.signal = live.signal();
  note.arguments = arguments;
  note.arguments_size = kernel_ ? kernel_->device.kernarg_size : 0;
  deaths.dispatched(note);
}

void DispatchRewrite::swap(HsaDispatch &live, uint64_t ordinal) {
  if (SamplePlan *plan = runtime_.samplePlan();
      plan && !kernel_->info->symbol().starts_with("__amd_rocclr_")) {
    live.record->sample = plan->next(packet_.kernel_object, {shape_.grid, shape_.workgroup});
    live.record->was_passed_over = live.record->sample == 0;
    if (live.record->was_passed_over) return;
  }
  runtime_.settleCache();
  const ReplacementPlan &plan = ReplacementPlanner::planOf(*kernel_);
  const Observe observing = runtime_.observing();
  // Where the pass was used, what has no twin was left out on purpose; and who has a kernel cache
  // is to hear why it was not used.
  const bool was_left_alone = plan.choices.empty() && runtime_.settings().cache.empty() &&
                              kernel_->code &&
                              !LoadedCode::mayBeInstrumented(kernel_->code->bytes());
  const bool counts_instructions = (runtime_.analysis().needs() & FADE_NEEDS_INSTRUCTIONS) != 0;
  if (observing == Observe::gpu ||
      (observing == Observe::automatic && (was_left_alone || counts_instructions))) {
    observe(live);
    return;
  }
  if (plan.choices.empty()) return skip(plan.reason);
  if (shape_.has_clusters) return skip("it is launched in clusters of workgroups");
  const Replacement &choice = plan.choices[(ordinal - 1) % plan.choices.size()];
  if (choice.was_rewritten &&
      (!runtime_.settings().workgroups.wantsAllWorkgroups() || live.record->sample > 1))
    return skip("rewritten kernels count all workgroups, not a part of them");
  if (choice.was_rewritten && runtime_.settings().workgroups.sample_executions > 1)
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

/// By what irregular accesses are added up: as analyzers would.
static uint32_t irregularFor(std::string_view target) {
  uint32_t line = kUsualLine, banks = kUsualBanks;
  if (const GpuInfo *gpu = findGpu(target)) {
    if (gpu->unit.line != 0) line = gpu->unit.line;
    if (gpu->unit.lds_banks != 0) banks = gpu->unit.lds_banks;
  }
  const auto shift = [](uint32_t n) { return static_cast<uint32_t>(std::countr_zero(n)); };
  if (!std::has_single_bit(line) || !std::has_single_bit(banks) || banks > 64) return 0;
  return FADE_IRREGULAR(shift(line), shift(banks));
}

bool DispatchRewrite::countsBySite(const KernelInfo &kernel) const {
  return (kernel.modes() & FADE_MODE_COUNTS) != 0 ||
         runtime_.settings().workgroups.sample_executions > 1;
}

/// What a kernel needs that can add its accesses up.
CounterRoom DispatchRewrite::roomForSums(const DispatchRecord &record,
                                         const Replacement &choice) const {
  const KernelInfo &kernel = *choice.info;
  CounterRoom room;
  room.by_site = countsBySite(kernel) ? kernel.siteCount() : 0;
  room.request.site_count = kernel.siteCount();
  room.request.wave_size = 32; // of those that a kernel may have, the smaller
  room.request.records_only = runtime_.wantsRecords();
  if (const GpuInfo *gpu = findGpu(kernel.target()); gpu && gpu->unit.line != 0)
    room.request.line = std::max<uint32_t>(room.request.line, gpu->unit.line);
  else
    room.request.line = kUsualLine;
  // Rewritten kernels record what has no class.
  if (!room.request.records_only && runtime_.analysis().takesSums() && !choice.was_rewritten)
    room.request.irregular = irregularFor(kernel.target());
  for (std::size_t i = 0; i < 3; ++i) {
    room.request.grid[i] = std::max<uint32_t>(record.view.grid[i], 1);
    room.request.workgroup[i] = std::max<uint32_t>(record.view.workgroup[i], 1);
  }
  room.request.page = room.request.records_only ? 0 : runtime_.analysis().summaryPage();
  if (room.request.page != 0)
    room.request.parted = partedPages(record.allocations, room.request.page);
  room.sums = SummaryLayout::of(room.request);
  room.sample = record.sample;
  room.module = kernel.sites()->table.moduleId();
  room.kernel = kernel.kernelIndex();
  return room;
}

/// Gives the instrumented kernel a ring and its arguments.
bool DispatchRewrite::instrument(HsaDispatch &live, const Replacement &choice) {
  const bool counts = countsBySite(*choice.info);
  addMemory(*live.record); // how accesses are added up depends on it
  HsaRing *ring = nullptr;
  RingPool *rings = choice.was_rewritten && queue_->rings && !choice.info->hasNoStream()
                        ? runtime_.pools().rings(*queue_->agent, RingUse::rewritten)
                        : queue_->rings;
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
    skip(ring ? "no memory for its arguments" : whyNoRing(queue_->rings));
    if (ring) ring->giveBackUnused();
    return false;
  }
  choice.twin_kernargs->build(arguments_, fieldsOf(packet_, *queue_), ring->controlAddress(),
                              block);
  packet_.kernarg_address = block.data();
  // The control block came by a copy engine, and the host reads what the kernel leaves there.
  packet_.header = withSystemScope(packet_.header);
  live.ring = ring;
  live.record->view.flags |= FADE_DISPATCH_INSTRUMENTED;
  if (runtime_.deaths()) live.record->last = std::make_shared<LastRecords>();
  return true;
}

/// The kernel runs as it is. The software GPU tells what it does, and the records of that go into a
/// ring as if it had written them.
bool DispatchRewrite::observe(HsaDispatch &live) {
  if (kernel_->info->symbol().starts_with("__amd_rocclr_")) return false;
  const uint32_t needs = runtime_.analysis().needs();
  const ObservedParts parts{.blocks = (needs & (FADE_NEEDS_BLOCKS | FADE_NEEDS_COUNTS)) != 0,
                            .instructions = (needs & FADE_NEEDS_INSTRUCTIONS) != 0};
  auto kernel = runtime_.observedKernels().find(kernel_, runtime_.registry(), parts);
  if (!kernel) {
    skip("it cannot be observed: " + kernel.error().message());
    return false;
  }
  const bool counts = parts.instructions || runtime_.settings().workgroups.sample_executions > 1;
  // Of small rings there are as many as dispatches in flight, and each would get memory for counts.
  const uint64_t bytes = parts.instructions ? UINT64_MAX : expectedBytes();
  RingPool *rings = queue_->rings ? runtime_.observedRings(*queue_->agent) : nullptr;
  const CounterRoom room{.by_site = counts ? (*kernel)->info->siteCount() : 0,
                         .sample = live.record->sample};
  HsaRing *ring = rings ? rings->take(bytes, room) : nullptr;
  if (!ring) {
    skip(whyNoRing(rings));
    return false;
  }
  // Who counts instructions and nothing else can do without records. A recording has all.
  const bool wants_accesses =
      (needs & FADE_NEEDS_ACCESSES) != 0 || needs == 0 || !runtime_.settings().record.empty();
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
bool DispatchRewrite::exchange(HsaDispatch &live, const Replacement &choice) {
  const codeobj::VariantKernargs &kernargs = *choice.variant_kernargs;
  if (kernargs.isSame()) return true;
  KernargPool *pool = runtime_.pools().kernargs(*queue_->agent);
  const auto block = pool ? pool->take(kernargs.size()) : std::span<uint8_t>();
  if (block.empty()) {
    skip("no memory for its arguments");
    return false;
  }
  kernargs.build(arguments_, fieldsOf(packet_, *queue_), block);
  packet_.kernarg_address = block.data();
  live.keepKernargs(*pool, block);
  return true;
}

void DispatchRewrite::run() {
  kernel_ = runtime_.registry().find(packet_.kernel_object);
  const uint64_t ordinal = kernel_ ? ++kernel_->dispatches : 0;
  auto live =
      std::make_unique<HsaDispatch>(DispatchServices::of(runtime_), queue_, number_, kernel_);
  live->record = std::make_unique<DispatchRecord>();
  describe(*live->record);
  if (!live->replaceSignal(packet_.completion_signal)) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn("the runtime has no signals left: dispatches are not seen");
    runtime_.skipped(live->record->kernel->name(), "the runtime had no signal to time it with");
    return;
  }
  // What a recorded call has asked for is there, also if the recording was switched off meanwhile.
  const uint64_t call = queue_->calls ? queue_->calls->callOf(index_) : 0;
  if (call != 0 || (queue_->calls && hip::isRecording()))
    live->operation = recordKernel(
        *queue_->agent, *live->record, kernel_.get(), packet_.private_segment_size, call, index_,
        blitPlaces(kernel_.get(), packet_.kernarg_address, runtime_.allocations()));
  const void *arguments = packet_.kernarg_address;
  if (isWanted(ordinal)) swap(*live, ordinal);
  if (DeathWatch *deaths = runtime_.deaths()) noteForDeath(*deaths, *live, arguments);
  runtime_.collector().add(std::move(live));
}

} // namespace

void rewritePackets(Runtime &runtime, const std::shared_ptr<QueueState> &queue,
                    std::vector<DispatchPacket> &packets, uint64_t index) {
  const uint64_t count = packets.size();
  const uint64_t first = queue->flow.submit(count, runtime.polledSignals());
  for (uint64_t i = 0; i < count; ++i) {
    if (kindOf(packets[i]) == PacketKind::unknown)
      unseen().addPacket(typeOf(packets[i]), formatOf(packets[i]));
    if (!runsKernel(packets[i])) continue;
    const DispatchPacket before = packets[i];
    try {
      DispatchRewrite(runtime, queue, packets[i], first + i, index + i).run();
    } catch (const std::exception &e) {
      packets[i] = before;
      warn("a dispatch is passed on unchanged: {}", e.what());
    }
  }
  packets.reserve(count + 1); // a mark that is not passed on would be waited for
  if (const auto mark = queue->flow.mark(runtime.polledSignals()))
    std::memcpy(&packets.emplace_back(), &*mark, sizeof *mark);
}

} // namespace fade
