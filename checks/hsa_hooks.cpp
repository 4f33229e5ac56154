// The host's side of the checks: libfadecheck.so is also an HSA tool.
//
// The GPU knows pages; how many bytes the application asked for, and that it freed them, is known
// to the runtime alone. So the checks see the same functions of HSA that libfade sees:
// - An allocation gets a gap behind it, which belongs to nobody. (ROCr's fragment allocator, which
//   would pack small allocations into one block, is switched off by fadeprobe.)
// - What is freed is kept aside for a while, so that somebody who still uses it is caught and does
//   not hit what came in its place.
// - The bytes of code objects are kept, for the places in the source.
#include "checks/allocations.h"
#include "checks/aside.h"
#include "checks/call_site.h"
#include "checks/finding_log.h"
#include "checks/gap.h"
#include "checks/hip_hooks.h"
#include "checks/init_check.h"
#include "checks/options.h"
#include "checks/overlap_check.h"
#include "checks/queue_order.h"
#include "checks/signal_handlers.h"
#include "checks/stream_calls.h"

#include "base/diagnostics.h"
#include "hsa/hsa_api.h"
#include "hsa/signal_waits.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace fade::checks {
namespace {

/// Freed memory that the runtime still has.
class Quarantine {
public:
  static Quarantine &instance() {
    static auto *quarantine = new Quarantine;
    return *quarantine;
  }
  /// False: it is to be freed at once.
  bool keep(void *memory, uint64_t size) {
    if (size > kMostBytes / 4) return false;
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(memory, size);
    bytes_ += size;
    while (bytes_ > kMostBytes || kept_.size() > kMost) releaseOldest();
    return true;
  }
  bool has(const void *memory) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(kept_, [&](const auto &one) { return one.first == memory; });
  }
  bool releaseAll() {
    const std::lock_guard lock(mutex_);
    const bool had_any = !kept_.empty();
    while (!kept_.empty()) releaseOldest();
    return had_any;
  }

private:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  static constexpr std::size_t kMost = 1024;

  void releaseOldest() {
    hsaApi().amd.hsa_amd_memory_pool_free_fn(kept_.front().first);
    bytes_ -= kept_.front().second;
    kept_.pop_front();
  }
  std::mutex mutex_;
  std::deque<std::pair<void *, uint64_t>> kept_;
  uint64_t bytes_ = 0;
};

bool isHostPool(hsa_amd_memory_pool_t pool) {
  bool on_host = false;
  hsaApi().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL,
                                               &on_host);
  return on_host;
}

/// One that is made by a call of the application's.
Allocation allocationAt(const void *memory, uint64_t size, uint64_t gap) {
  Allocation a;
  a.base = reinterpret_cast<uint64_t>(memory);
  a.size = size;
  a.end_of_block = a.base + size + gap;
  const CallSite site = callSite(kMostCallers);
  a.api = FindingLog::instance().string(site.api);
  a.callers = callersOf(site);
  a.path = site.path;
  return a;
}

void addAllocation(const void *memory, uint64_t size, uint64_t gap, bool on_host) {
  Allocation a = allocationAt(memory, size, gap);
  a.on_host = on_host;
  if (!on_host) InitCheck::noteAllocated(a.base, size);
  AllocationMap::instance().add(a);
}

/// Allocates with a gap, if there is room for one.
template <typename Allocate> hsa_status_t withGap(size_t size, uint64_t &gap, Allocate &&allocate) {
  gap = FindingLog::instance().isOpen() ? gapBehind(size) : 0;
  hsa_status_t status = allocate(size + gap);
  if (ok(status) || gap == 0 || size == 0) return status;
  if (Quarantine::instance().releaseAll()) status = allocate(size + gap);
  if (ok(status)) return status;
  gap = 0;
  return allocate(size);
}

hsa_status_t poolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory) {
  uint64_t gap = 0;
  const hsa_status_t status = withGap(size, gap, [&](size_t bytes) {
    return hsaApi().amd.hsa_amd_memory_pool_allocate_fn(pool, bytes, flags, memory);
  });
  if (ok(status)) aside([&] { addAllocation(*memory, size, gap, isHostPool(pool)); });
  return status;
}

hsa_status_t regionAllocate(hsa_region_t region, size_t size, void **memory) {
  uint64_t gap = 0;
  const hsa_status_t status = withGap(size, gap, [&](size_t bytes) {
    return hsaApi().core.hsa_memory_allocate_fn(region, bytes, memory);
  });
  if (ok(status)) aside([&] { addAllocation(*memory, size, gap, isHostPool({region.handle})); });
  return status;
}

/// The start of freed memory that is kept aside if the address lies in such, else null: to the
/// application it is no allocation any more.
const void *keptMemory(const void *address) {
  const void *memory = nullptr;
  aside([&] {
    const auto known = AllocationMap::instance().find(reinterpret_cast<uint64_t>(address));
    if (!known || !known->is_freed) return;
    const auto *base = reinterpret_cast<const void *>(known->base);
    if (Quarantine::instance().has(base)) memory = base;
  });
  return memory;
}

/// What freeing it comes to without asking the runtime: success if it is kept aside from now on, an
/// error if it was freed before, nothing if the runtime is to free it.
std::optional<hsa_status_t> keepFreed(void *memory) {
  if (memory && keptMemory(memory) == memory) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  bool is_kept = false;
  aside([&] {
    const auto freed = AllocationMap::instance().free(reinterpret_cast<uint64_t>(memory),
                                                      callersOf(callSite(kMostCallers)));
    is_kept = freed && Quarantine::instance().keep(memory, freed->size);
  });
  return is_kept ? std::optional(HSA_STATUS_SUCCESS) : std::nullopt;
}

hsa_status_t poolFree(void *memory) {
  const auto kept = keepFreed(memory);
  return kept ? *kept : hsaApi().amd.hsa_amd_memory_pool_free_fn(memory);
}

hsa_status_t regionFree(void *memory) {
  const auto kept = keepFreed(memory);
  return kept ? *kept : hsaApi().core.hsa_memory_free_fn(memory);
}

/// HIP 6 and later ask before they free what they do not know.
hsa_status_t pointerInfo(const void *address, hsa_amd_pointer_info_t *info,
                         void *(*allocate)(size_t), uint32_t *agents_count, hsa_agent_t **agents) {
  const void *const nowhere = reinterpret_cast<const void *>(uintptr_t{1});
  return hsaApi().amd.hsa_amd_pointer_info_fn(keptMemory(address) ? nowhere : address, info,
                                              allocate, agents_count, agents);
}

// ---- memory of several processes. The runtime knows it with the gap behind it, the application
// and whoever opens it do not. Who else writes to it, and when, is not seen.

/// How long the runtime believes memory is that the application has `size` bytes of, or somewhat
/// more: HIP rounds up.
size_t sizeWithGap(void *memory, size_t size) {
  const auto base = reinterpret_cast<uint64_t>(memory);
  const auto known = AllocationMap::instance().find(base);
  if (!known || known->is_freed || known->base != base || size < known->size) return size;
  AllocationMap::instance().countAsWritten(base);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  const bool is_told =
      ok(hsaApi().amd.hsa_amd_pointer_info_fn(memory, &info, nullptr, nullptr, nullptr));
  return is_told && info.agentBaseAddress == memory ? info.sizeInBytes : size;
}

hsa_status_t ipcCreate(void *memory, size_t size, hsa_amd_ipc_memory_t *handle) {
  size_t whole = size;
  aside([&] { whole = sizeWithGap(memory, size); });
  return hsaApi().amd.hsa_amd_ipc_memory_create_fn(memory, whole, handle);
}

hsa_status_t ipcAttach(const hsa_amd_ipc_memory_t *handle, size_t size, uint32_t count,
                       const hsa_agent_t *agents, void **memory) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_ipc_memory_attach_fn(handle, size, count, agents, memory);
  if (ok(status))
    aside([&] {
      Allocation a = allocationAt(*memory, size, 0);
      a.counts_as_written = true;
      AllocationMap::instance().add(a);
    });
  return status;
}

/// Its address may be anybody's from now on, so it is not kept aside.
hsa_status_t ipcDetach(void *memory) {
  aside([&] {
    AllocationMap::instance().free(reinterpret_cast<uint64_t>(memory),
                                   callersOf(callSite(kMostCallers)));
  });
  return hsaApi().amd.hsa_amd_ipc_memory_detach_fn(memory);
}

// ---- code objects

using LoaderTable = hsa_ven_amd_loader_1_01_pfn_t;

/// The loader's own functions; null if the runtime has none.
const LoaderTable *loader() {
  static const auto *table = [] {
    static LoaderTable t{};
    return ok(hsaApi().core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1,
                                                                    sizeof t, &t))
               ? &t
               : nullptr;
  }();
  return table;
}

void keepCode(hsa_loaded_code_object_t loaded) {
  const LoaderTable *table = loader();
  if (!table || !table->hsa_ven_amd_loader_loaded_code_object_get_info) return;
  const auto get = [&](hsa_ven_amd_loader_loaded_code_object_info_t what, auto &value) {
    return ok(table->hsa_ven_amd_loader_loaded_code_object_get_info(loaded, what, &value));
  };
  CodeInfo info{};
  uint64_t bytes = 0, size = 0;
  int64_t delta = 0;
  if (get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE, bytes) &&
      get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE, size) &&
      get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, info.base) &&
      get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, info.size) &&
      get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, delta) && bytes && size) {
    info.delta = static_cast<uint64_t>(delta);
    FindingLog::instance().addCode(reinterpret_cast<const void *>(bytes), size, info);
  }
}

hsa_status_t loadAgentCode(hsa_executable_t executable, hsa_agent_t agent,
                           hsa_code_object_reader_t reader, const char *options,
                           hsa_loaded_code_object_t *loaded) {
  hsa_loaded_code_object_t own{};
  const hsa_status_t status = hsaApi().core.hsa_executable_load_agent_code_object_fn(
      executable, agent, reader, options, &own);
  if (loaded) *loaded = own;
  if (ok(status)) aside([&] { keepCode(own); });
  return status;
}

// ---- order of queues (QueueOrder)

struct Doorbells {
  std::mutex mutex;
  std::map<uint64_t, uint64_t> queues; ///< by signal

  static Doorbells &instance() {
    static auto *doorbells = new Doorbells; // outlives every exit handler
    return *doorbells;
  }
};

void noteQueue(hsa_queue_t *queue) {
  aside([&] {
    QueueOrder::instance().addQueue();
    Doorbells &doorbells = Doorbells::instance();
    const std::lock_guard lock(doorbells.mutex);
    doorbells.queues[queue->doorbell_signal.handle] = reinterpret_cast<uint64_t>(queue);
  });
}

hsa_status_t queueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         QueueErrorFunction callback, void *data, uint32_t private_size,
                         uint32_t group_size, hsa_queue_t **queue) {
  const hsa_status_t status = hsaApi().core.hsa_queue_create_fn(agent, size, type, callback, data,
                                                                private_size, group_size, queue);
  if (ok(status)) noteQueue(*queue);
  return status;
}

/// Some of them may have been made although there is an error.
hsa_status_t createDescribed(hsa_agent_t agent, QueueDescriptor *descriptors, uint32_t count) {
  const bool is_known =
      descriptors && count != 0 && descriptors->version == QueueDescriptor::kVersion;
  for (uint32_t i = 0; is_known && i < count; ++i) descriptors[i].queue = nullptr;
  const hsa_status_t status = hsaApi().amd.hsa_amd_queue_create_fn(agent, descriptors, count);
  for (uint32_t i = 0; is_known && i < count; ++i)
    if (descriptors[i].engine == QueueDescriptor::kCompute && descriptors[i].queue)
      noteQueue(descriptors[i].queue);
  return status;
}

/// Several may have the same doorbell: they are one queue of the GPU.
hsa_status_t acquireCounted(hsa_agent_t agent, uint32_t type, uint32_t priority,
                            QueueErrorFunction callback, void *data, uint64_t flags,
                            hsa_queue_t **queue) {
  const hsa_status_t status = hsaApi().amd.hsa_amd_counted_queue_acquire_fn(
      agent, type, priority, callback, data, flags, queue);
  if (ok(status)) noteQueue(*queue);
  return status;
}

hsa_status_t queueDestroy(hsa_queue_t *queue) {
  const auto address = reinterpret_cast<uint64_t>(queue);
  const hsa_status_t status = hsaApi().core.hsa_queue_destroy_fn(queue);
  if (ok(status))
    aside([&] {
      OverlapCheck::instance().forgetQueue(address);
      QueueOrder::instance().forgetQueue(address);
      Doorbells &doorbells = Doorbells::instance();
      const std::lock_guard lock(doorbells.mutex);
      std::erase_if(doorbells.queues, [&](const auto &one) { return one.second == address; });
    });
  return status;
}

hsa_status_t signalDestroy(hsa_signal_t signal) {
  aside([&] { QueueOrder::instance().forgetSignal(signal.handle); });
  return hsaApi().core.hsa_signal_destroy_fn(signal);
}

/// A doorbell says that packets were submitted; another signal, that the host has come so far.
void noteStore(hsa_signal_t signal, hsa_signal_value_t value) {
  aside([&] {
    uint64_t queue = 0;
    {
      Doorbells &doorbells = Doorbells::instance();
      const std::lock_guard lock(doorbells.mutex);
      const auto at = doorbells.queues.find(signal.handle);
      if (at != doorbells.queues.end()) queue = at->second;
    }
    if (queue)
      QueueOrder::instance().submitted(queue, static_cast<uint64_t>(value), HostTime::now(),
                                       StreamCall::current());
    else
      QueueOrder::instance().hostSet(signal.handle);
  });
}

void signalStoreRelaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  noteStore(signal, value);
  hsaApi().core.hsa_signal_store_relaxed_fn(signal, value);
}

void signalStoreRelease(hsa_signal_t signal, hsa_signal_value_t value) {
  noteStore(signal, value);
  hsaApi().core.hsa_signal_store_screlease_fn(signal, value);
}

/// Signals of packets and copies are counted down to 0.
hsa_signal_value_t noteLoad(hsa_signal_t signal, hsa_signal_value_t value) {
  if (value <= 0) aside([&] { QueueOrder::instance().hostSaw(signal.handle); });
  return value;
}

hsa_signal_value_t signalLoadRelaxed(hsa_signal_t signal) {
  return noteLoad(signal, hsaApi().core.hsa_signal_load_relaxed_fn(signal));
}

hsa_signal_value_t signalLoadAcquire(hsa_signal_t signal) {
  return noteLoad(signal, hsaApi().core.hsa_signal_load_scacquire_fn(signal));
}

hsa_signal_value_t signalWaitRelaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state) {
  return noteLoad(signal, waitAsleepRelaxed(signal, condition, value, timeout, state));
}

hsa_signal_value_t signalWaitAcquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state) {
  return noteLoad(signal, waitAsleepAcquire(signal, condition, value, timeout, state));
}

hsa_status_t signalAsyncHandler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                void *data) {
  const auto seen = [](hsa_signal_t one, hsa_signal_value_t now) { noteLoad(one, now); };
  return registerSignalHandler(signal, condition, value, handler, data,
                               options().has(Check::race) ? +seen : nullptr);
}

void noteCopy(uint32_t count, const hsa_signal_t *waited, hsa_signal_t completion) {
  static_assert(sizeof(hsa_signal_t) == sizeof(uint64_t));
  aside([&] {
    QueueOrder::instance().copies({reinterpret_cast<const uint64_t *>(waited), count},
                                  completion.handle);
  });
}

hsa_status_t asyncCopy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                       size_t size, uint32_t count, const hsa_signal_t *waited,
                       hsa_signal_t completion) {
  noteCopy(count, waited, completion);
  return hsaApi().amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, size, count,
                                                   waited, completion);
}

hsa_status_t asyncCopyOnEngine(void *to, hsa_agent_t to_agent, const void *from,
                               hsa_agent_t from_agent, size_t size, uint32_t count,
                               const hsa_signal_t *waited, hsa_signal_t completion, uint32_t engine,
                               bool force) {
  noteCopy(count, waited, completion);
  return hsaApi().amd.hsa_amd_memory_async_copy_on_engine_fn(
      to, to_agent, from, from_agent, size, count, waited, completion, engine, force);
}

hsa_status_t asyncCopyRect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset,
                           const hsa_pitched_ptr_t *from, const hsa_dim3_t *from_offset,
                           const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t way,
                           uint32_t count, const hsa_signal_t *waited, hsa_signal_t completion) {
  noteCopy(count, waited, completion);
  return hsaApi().amd.hsa_amd_memory_async_copy_rect_fn(to, to_offset, from, from_offset, range,
                                                        agent, way, count, waited, completion);
}

hsa_status_t asyncBatchCopy(const CopyOperation *operations, uint32_t count, uint32_t wait_count,
                            const hsa_signal_t *waited) {
  if (operations && count != 0 && operations->version == CopyOperation::kVersion)
    for (uint32_t i = 0; i < count; ++i)
      if (i == 0 || operations[i].completion.handle != operations[i - 1].completion.handle)
        noteCopy(wait_count, waited, operations[i].completion);
  return hsaApi().amd.hsa_amd_memory_async_batch_copy_fn(operations, count, wait_count, waited);
}

/// Where the GPU sees memory of the host there may have been other memory before, freed and not
/// kept aside.
void noteLocked(const void *device, size_t size) {
  constexpr uint64_t page = 4096;
  const auto begin = reinterpret_cast<uint64_t>(device);
  aside([&] {
    AllocationMap::instance().forgetFreed(begin / page * page,
                                          (begin + size + page - 1) / page * page);
  });
}

hsa_status_t lock(void *host, size_t size, hsa_agent_t *agents, int count, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_fn(host, size, agents, count, device);
  if (ok(status)) noteLocked(*device, size);
  return status;
}

hsa_status_t lockToPool(void *host, size_t size, hsa_agent_t *agents, int count,
                        hsa_amd_memory_pool_t pool, uint32_t flags, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_to_pool_fn(host, size, agents, count, pool, flags, device);
  if (ok(status)) noteLocked(*device, size);
  return status;
}

hsa_status_t setSharedPages(void *memory, size_t size, hsa_amd_svm_attribute_pair_t *attributes,
                            size_t count) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_svm_attributes_set_fn(memory, size, attributes, count);
  if (ok(status)) aside([&] { noteSharedPages(memory, size); });
  return status;
}

void replaceForOrder(HsaTables &tables) {
  CoreApiTable &core = tables.core();
  core.hsa_queue_create_fn = queueCreate;
  core.hsa_queue_destroy_fn = queueDestroy;
  core.hsa_signal_destroy_fn = signalDestroy;
  core.hsa_signal_store_relaxed_fn = signalStoreRelaxed;
  core.hsa_signal_store_screlease_fn = signalStoreRelease;
  core.hsa_signal_load_relaxed_fn = signalLoadRelaxed;
  core.hsa_signal_load_scacquire_fn = signalLoadAcquire;
  core.hsa_signal_wait_relaxed_fn = signalWaitRelaxed;
  core.hsa_signal_wait_scacquire_fn = signalWaitAcquire;
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_fn, asyncCopy);
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_on_engine_fn, asyncCopyOnEngine);
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_rect_fn, asyncCopyRect);
  tables.replace(&AmdApi::hsa_amd_memory_async_batch_copy_fn, asyncBatchCopy);
  tables.replace(&AmdApi::hsa_amd_queue_create_fn, createDescribed);
  tables.replace(&AmdApi::hsa_amd_counted_queue_acquire_fn, acquireCounted);
}

} // namespace
} // namespace fade::checks

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable *table, uint64_t,
                                                              uint64_t, const char *const *) {
  using namespace fade;
  using namespace fade::checks;
  HsaTables tables;
  if (!tables.read(*table)) {
    warn("check: {}", tables.problem());
    return true;
  }
  for (const std::string &gap : tables.gaps()) warn("check: {}", gap);
  prepareCallSites();
  tables.core().hsa_memory_allocate_fn = regionAllocate;
  tables.core().hsa_memory_free_fn = regionFree;
  tables.core().hsa_executable_load_agent_code_object_fn = loadAgentCode;
  tables.replace(&AmdApi::hsa_amd_memory_pool_allocate_fn, poolAllocate);
  tables.replace(&AmdApi::hsa_amd_memory_pool_free_fn, poolFree);
  tables.replace(&AmdApi::hsa_amd_memory_lock_fn, lock);
  tables.replace(&AmdApi::hsa_amd_memory_lock_to_pool_fn, lockToPool);
  tables.replace(&AmdApi::hsa_amd_pointer_info_fn, pointerInfo);
  tables.replace(&AmdApi::hsa_amd_svm_attributes_set_fn, setSharedPages);
  tables.replace(&AmdApi::hsa_amd_signal_async_handler_fn, signalAsyncHandler);
  tables.replace(&AmdApi::hsa_amd_ipc_memory_create_fn, ipcCreate);
  tables.replace(&AmdApi::hsa_amd_ipc_memory_attach_fn, ipcAttach);
  tables.replace(&AmdApi::hsa_amd_ipc_memory_detach_fn, ipcDetach);
  hookWaits(tables);
  if (options().has(Check::race)) replaceForOrder(tables);
  awaitSignalHandlersAtExit();
  aside([] { hookHip(); });
  aside([] { tellOfTorch(); });
  return true;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() {
  fade::checks::forgetSignalHandlers();
}
