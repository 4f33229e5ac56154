#include "hsa/queue_hooks.h"

#include "base/diagnostics.h"
#include "fade/sites.h"
#include "hsa/live_dispatch.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace fade {
namespace {

using Packet = hsa_kernel_dispatch_packet_t;
static_assert(sizeof(Packet) == 64);

constexpr uint64_t kMarksPerQueue = 8;
constexpr auto kFullQueuePatience = std::chrono::milliseconds(1000);

class Queues {
public:
  void add(std::shared_ptr<QueueState> state) {
    const std::lock_guard lock(mutex_);
    states_[state->queue] = std::move(state);
  }
  /// False if others still have it.
  bool take(hsa_queue_t *queue, std::shared_ptr<QueueState> &state) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(queue);
    if (found == states_.end()) return true;
    if (--found->second->users > 0) return false;
    state = std::move(found->second);
    states_.erase(found);
    return true;
  }
  /// One more has it. Null if the agent has no cooperative queue; an agent of a runtime that was
  /// started again is another one.
  hsa_queue_t *shareCooperative(const Agent *agent) {
    const std::lock_guard lock(mutex_);
    for (const auto &[queue, state] : states_)
      if (state->cooperative && state->agent == agent) return ++state->users, queue;
    return nullptr;
  }
  bool has(const hsa_queue_t *queue) {
    const std::lock_guard lock(mutex_);
    return states_.contains(const_cast<hsa_queue_t *>(queue));
  }

private:
  std::mutex mutex_;
  std::unordered_map<hsa_queue_t *, std::shared_ptr<QueueState>> states_;
};

Queues &queues() {
  static auto *all = new Queues; // outlives every exit handler
  return *all;
}

uint16_t withSystemScope(uint16_t header) {
  constexpr uint16_t scopes = ((1 << HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE) - 1)
                                  << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              ((1 << HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE) - 1)
                                  << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr uint16_t system = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  return static_cast<uint16_t>((header & ~scopes) | system);
}

bool isDispatch(const Packet &packet) {
  constexpr uint16_t mask = (1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1;
  return ((packet.header >> HSA_PACKET_HEADER_TYPE) & mask) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

/// What was fixed for the original is replaced; what the application added on top of it stays.
uint32_t exchangeFixed(uint32_t in_packet, uint32_t original, uint32_t replacement) {
  if (in_packet < original) return std::max(in_packet, replacement);
  return in_packet - original + replacement;
}

codeobj::DispatchFields fieldsOf(const Packet &packet, const QueueState &queue) {
  codeobj::DispatchFields fields;
  constexpr uint16_t mask = (1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1;
  fields.dimensions = (packet.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS) & mask;
  fields.workgroup_size[0] = packet.workgroup_size_x;
  fields.workgroup_size[1] = packet.workgroup_size_y;
  fields.workgroup_size[2] = packet.workgroup_size_z;
  fields.grid_size[0] = packet.grid_size_x;
  fields.grid_size[1] = packet.grid_size_y;
  fields.grid_size[2] = packet.grid_size_z;
  fields.group_segment_size = packet.group_segment_size;
  fields.queue = reinterpret_cast<uint64_t>(queue.queue);
  return fields;
}

/// One packet on its way through.
class Passage {
public:
  Passage(Runtime &runtime, const std::shared_ptr<QueueState> &queue, Packet &packet,
          uint64_t number)
      : runtime_(runtime), queue_(queue), packet_(packet), number_(number) {}

  void pass();

private:
  void describe(DispatchRecord &record) const;
  bool isWanted(uint64_t ordinal) const;
  uint64_t expectedBytes() const;
  void skip(const std::string &reason) const;
  void swap(HsaDispatch &live, uint64_t ordinal);
  bool instrument(HsaDispatch &live, const Replacement &choice, codeobj::ByteView original);
  bool exchange(HsaDispatch &live, const Replacement &choice, codeobj::ByteView original);

  Runtime &runtime_;
  const std::shared_ptr<QueueState> &queue_;
  Packet &packet_;
  const uint64_t number_;
  std::shared_ptr<KernelEntry> kernel_;
};

void Passage::describe(DispatchRecord &record) const {
  static const auto original = std::make_shared<const std::string>("original");
  if (kernel_) {
    record.setKernel(kernel_->info);
  } else {
    const std::string name = fmt::format("kernel object {:#x}", packet_.kernel_object);
    record.setKernel(runtime_.registry().info(name, name, queue_->agent->target, nullptr));
  }
  record.setVariant(original);
  fade_dispatch &view = record.view;
  view.id = runtime_.nextDispatch();
  view.queue = queue_->number;
  view.agent = queue_->agent->number;
  view.group_segment = packet_.group_segment_size;
  view.grid[0] = packet_.grid_size_x;
  view.grid[1] = packet_.grid_size_y;
  view.grid[2] = packet_.grid_size_z;
  view.workgroup[0] = packet_.workgroup_size_x;
  view.workgroup[1] = packet_.workgroup_size_y;
  view.workgroup[2] = packet_.workgroup_size_z;
}

bool Passage::isWanted(uint64_t ordinal) const {
  return kernel_ && kernel_->is_chosen && runtime_.planner().isNeeded() &&
         runtime_.selection().wantsDispatch(kernel_->symbol, ordinal);
}

/// Of its records, going by dispatches of the same kernel that have ended.
uint64_t Passage::expectedBytes() const {
  const double bytes = kernel_->bytes_per_item.load(std::memory_order_relaxed);
  if (bytes < 0) return UINT64_MAX;
  const double items =
      static_cast<double>(packet_.grid_size_x) * packet_.grid_size_y * packet_.grid_size_z;
  return static_cast<uint64_t>(std::min(bytes * items, 1e18));
}

void Passage::skip(const std::string &reason) const {
  // The helpers of the HIP runtime are nobody's kernels.
  if (!kernel_->symbol.starts_with("__amd_rocclr_")) runtime_.skipped(kernel_->name, reason);
}

void Passage::swap(HsaDispatch &live, uint64_t ordinal) {
  const ReplacementPlan &plan = runtime_.planner().planFor(*kernel_);
  if (plan.choices.empty()) return skip(plan.reason);
  const Replacement &choice = plan.choices[(ordinal - 1) % plan.choices.size()];
  const codeobj::ByteView original(static_cast<const uint8_t *>(packet_.kernarg_address),
                                   packet_.kernarg_address ? kernel_->kernarg_size : 0);
  if (!(choice.instrumented ? instrument(live, choice, original)
                            : exchange(live, choice, original)))
    return;
  packet_.kernel_object = choice.kernel->object;
  packet_.group_segment_size =
      exchangeFixed(packet_.group_segment_size, kernel_->group_size, choice.kernel->group_size);
  packet_.private_segment_size = exchangeFixed(packet_.private_segment_size, kernel_->private_size,
                                               choice.kernel->private_size);
  live.record->setKernel(choice.info);
  live.record->setVariant(choice.variant);
}

/// Gives the instrumented kernel a ring and its arguments.
bool Passage::instrument(HsaDispatch &live, const Replacement &choice, codeobj::ByteView original) {
  const ModuleSites &sites = *choice.info->sites();
  const bool counts =
      (sites.modes & FADE_MODE_COUNTS) != 0 || runtime_.settings().workgroups.sample_executions > 1;
  HsaRing *ring = nullptr;
  if (queue_->rings) ring = queue_->rings->take(expectedBytes(), counts ? sites.site_count : 0);
  const auto block = ring ? ring->kernargs(choice.twin_kernargs->size()) : std::span<uint8_t>();
  if (block.empty()) {
    skip("all rings were in use (FADE_MEMORY)");
    if (ring) ring->giveBackUnused();
    return false;
  }
  choice.twin_kernargs->build(original, fieldsOf(packet_, *queue_), ring->controlAddress(), block);
  packet_.kernarg_address = block.data();
  // The control block came by a copy engine, and the host reads what the kernel leaves there.
  packet_.header = withSystemScope(packet_.header);
  live.ring = ring;
  live.record->view.flags |= FADE_DISPATCH_INSTRUMENTED;
  if (runtime_.analysis().needs() & FADE_NEEDS_ALLOCATIONS)
    live.record->setAllocations(runtime_.allocations().snapshot());
  return true;
}

/// Gives another version of the kernel its arguments.
bool Passage::exchange(HsaDispatch &live, const Replacement &choice, codeobj::ByteView original) {
  const VariantKernargs &kernargs = *choice.variant_kernargs;
  if (kernargs.isSame()) return true;
  KernargPool *pool = runtime_.kernargs(*queue_->agent);
  const auto block = pool ? pool->take(kernargs.size()) : std::span<uint8_t>();
  if (block.empty()) {
    skip("no memory for its arguments");
    return false;
  }
  kernargs.build(original, fieldsOf(packet_, *queue_), block);
  packet_.kernarg_address = block.data();
  live.keepKernargs(*pool, block);
  return true;
}

void Passage::pass() {
  kernel_ = runtime_.registry().find(packet_.kernel_object);
  const uint64_t ordinal = kernel_ ? ++kernel_->dispatches : 0;
  auto live = std::make_unique<HsaDispatch>(runtime_, queue_, number_, kernel_);
  live->record = std::make_unique<DispatchRecord>();
  describe(*live->record);
  if (!live->replaceSignal(packet_.completion_signal)) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn("the runtime has no signals left: dispatches are not seen");
    runtime_.skipped(live->record->kernel->name(), "the runtime had no signal to time it with");
    return;
  }
  if (isWanted(ordinal)) swap(*live, ordinal);
  runtime_.collector().add(std::move(live));
}

/// Looks at marks that the GPU has passed.
void collectMarks(Runtime &runtime, QueueState &queue) {
  const std::lock_guard lock(queue.marks_mutex);
  while (!queue.marks.empty() &&
         hsaApi().core.hsa_signal_load_scacquire_fn(queue.marks.front().signal) <= 0) {
    queue.hasConsumed(queue.marks.front().packet);
    runtime.polledSignals().giveBack(queue.marks.front().signal);
    queue.marks.pop_front();
  }
}

/// A packet that waits for nothing and tells when the GPU has come to it. What other packets tell
/// is heard by threads that may be late, and nobody should have to wait for those.
void addMark(Runtime &runtime, QueueState &queue, std::vector<Packet> &packets) {
  const hsa_signal_t signal = runtime.polledSignals().take();
  if (signal.handle == 0) return;
  hsa_barrier_and_packet_t barrier{};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  barrier.completion_signal = signal;
  std::memcpy(&packets.emplace_back(), &barrier, sizeof barrier);
  const uint64_t number = queue.submitted.fetch_add(1, std::memory_order_relaxed);
  queue.marked = number + 1;
  const std::lock_guard lock(queue.marks_mutex);
  queue.marks.push_back({number, signal});
}

/// The runtime keeps packets in order only while the GPU's queue has room for them.
void waitForRoom(Runtime &runtime, QueueState &queue, uint64_t count) {
  const uint64_t most = std::max<uint64_t>(queue.size / 2, 1);
  const auto isFull = [&] {
    return queue.submitted.load(std::memory_order_relaxed) + count >
           queue.consumed.load(std::memory_order_relaxed) + most;
  };
  if (!isFull()) return;
  auto deadline = std::chrono::steady_clock::now() + kFullQueuePatience;
  uint64_t consumed = queue.consumed.load(std::memory_order_relaxed);
  while (collectMarks(runtime, queue), isFull() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const uint64_t now = queue.consumed.load(std::memory_order_relaxed);
    if (now != consumed) deadline = std::chrono::steady_clock::now() + kFullQueuePatience;
    consumed = now;
  }
}

/// Times and swaps what is to be timed and swapped; whatever goes wrong, a packet stays whole.
void passAll(Runtime &runtime, const std::shared_ptr<QueueState> &queue,
             std::vector<Packet> &packets) {
  const uint64_t count = packets.size();
  waitForRoom(runtime, *queue, count);
  const uint64_t first = queue->submitted.fetch_add(count, std::memory_order_relaxed);
  for (uint64_t i = 0; i < count; ++i) {
    if (!isDispatch(packets[i])) continue;
    const Packet before = packets[i];
    try {
      Passage(runtime, queue, packets[i], first + i).pass();
    } catch (const std::exception &e) {
      packets[i] = before;
      warn("a dispatch is passed on unchanged: {}", e.what());
    }
  }
  if (first + count - queue->marked >= queue->size / kMarksPerQueue)
    addMark(runtime, *queue, packets);
}

void onPackets(const void *packets, uint64_t count, uint64_t, void *data,
               hsa_amd_queue_intercept_packet_writer writer) {
  std::vector<Packet> own;
  try {
    const Visit visit;
    if (visit.runtime() && count != 0) {
      const auto *from = static_cast<const Packet *>(packets);
      own.reserve(count + 1);
      own.assign(from, from + count);
      passAll(*visit.runtime(), *static_cast<std::shared_ptr<QueueState> *>(data), own);
    }
  } catch (const std::exception &e) { // each packet is whole, or there are none
    warn("packets are passed on unchanged: {}", e.what());
  }
  if (own.empty())
    writer(packets, count);
  else
    writer(own.data(), own.size());
}

/// What watches a queue destroys it as its own when it is destroyed, and the runtime would destroy
/// its cooperative queue again. So the watcher stays behind, and the queue is given back twice: for
/// the watcher, and for the name.
hsa_status_t giveBack(hsa_queue_t *cooperative) {
  const auto destroy = hsaApi().core.hsa_queue_destroy_fn;
  (void)destroy(cooperative);
  return destroy(cooperative);
}

hsa_status_t queueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                         uint32_t private_size, uint32_t group_size, hsa_queue_t **queue) {
  const HsaApi &api = hsaApi();
  const auto plain = [&] {
    return api.core.hsa_queue_create_fn(agent, size, type, callback, data, private_size, group_size,
                                        queue);
  };
  const Visit visit;
  Runtime *runtime = visit.runtime();
  if (!runtime) return plain();
  try {
    const Agent *known = runtime->agents().find(agent);
    if (!known || !known->is_gpu) return plain();
    // The runtime has one cooperative queue for each agent, which all get who ask for one. It
    // cannot be watched twice.
    static auto *cooperative_mutex = new std::mutex;
    std::unique_lock lock(*cooperative_mutex, std::defer_lock);
    const bool is_cooperative = type == HSA_QUEUE_TYPE_COOPERATIVE;
    if (is_cooperative) {
      lock.lock();
      if (hsa_queue_t *there = queue ? queues().shareCooperative(known) : nullptr) {
        *queue = there;
        return HSA_STATUS_SUCCESS;
      }
    }
    const hsa_status_t status = api.amd.hsa_amd_queue_intercept_create_fn(
        agent, size, type, callback, data, private_size, group_size, queue);
    if (!ok(status)) {
      warn("a queue cannot be watched (status {:#x})", static_cast<unsigned>(status));
      return plain();
    }
    auto state = std::make_shared<QueueState>();
    state->queue = *queue;
    state->number = runtime->nextQueue();
    state->agent = known;
    state->size = (*queue)->size;
    if (is_cooperative)
      (void)api.core.hsa_queue_create_fn(agent, size, type, callback, data, private_size,
                                         group_size, &state->cooperative);
    if (runtime->settings().instrumented) state->rings = runtime->rings(*known);
    // The runtime calls back until the queue is destroyed, and maybe a little longer.
    auto *forever = new std::shared_ptr<QueueState>(state);
    if (ok(api.amd.hsa_amd_queue_intercept_register_fn(*queue, onPackets, forever)))
      (void)api.amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
    note("queue {} on agent {} ({}), {} packets", state->number, known->number, known->target,
         state->size);
    queues().add(std::move(state));
    return status;
  } catch (const std::exception &e) {
    warn("a queue cannot be watched: {}", e.what());
    return plain();
  }
}

/// The GPU will not come to them any more.
void dropMarks(QueueState &queue) {
  const Visit visit;
  if (!visit.runtime()) return;
  const std::lock_guard lock(queue.marks_mutex);
  for (const QueueState::Mark &mark : queue.marks)
    visit.runtime()->polledSignals().giveBack(mark.signal);
  queue.marks.clear();
}

hsa_status_t queueDestroy(hsa_queue_t *queue) {
  if (Runtime::isInChild()) return hsaApi().core.hsa_queue_destroy_fn(queue);
  std::shared_ptr<QueueState> state;
  // Before another queue can get this address.
  if (!queues().take(queue, state)) return HSA_STATUS_SUCCESS;
  const hsa_status_t status = state && state->cooperative
                                  ? giveBack(state->cooperative)
                                  : hsaApi().core.hsa_queue_destroy_fn(queue);
  if (!state || !ok(status)) return status;
  dropMarks(*state);
  state->destroyed.store(true);
  return status;
}

/// The application may switch profiling of its queues on and off; FADE needs it on.
hsa_status_t setProfiling(hsa_queue_t *queue, int enable) {
  const bool ours = Runtime::active() && queues().has(queue);
  return hsaApi().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, ours ? 1 : enable);
}

} // namespace

void hookQueues(HsaTables &tables) {
  tables.core().hsa_queue_create_fn = queueCreate;
  tables.core().hsa_queue_destroy_fn = queueDestroy;
  tables.replace(&AmdApi::hsa_amd_profiling_set_profiler_enabled_fn, setProfiling);
}

} // namespace fade
