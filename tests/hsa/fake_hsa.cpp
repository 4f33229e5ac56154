#include "fake_hsa.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <mutex>
#include <string_view>
#include <sys/mman.h>
#include <thread>

namespace fade {
namespace {

FakeHsa *current = nullptr;
std::mutex fake_mutex;

amd_signal_t *memoryOf(hsa_signal_t signal) {
  return reinterpret_cast<amd_signal_t *>(signal.handle);
}
std::atomic_ref<int64_t> valueOf(hsa_signal_t signal) {
  return std::atomic_ref(const_cast<int64_t &>(memoryOf(signal)->value));
}

thread_local bool is_ringing = false;
thread_local FakeHsa::Packets packets_passed_on; ///< by the queue that is being written to

constexpr std::size_t kCodeBytes = 4096;

thread_local int call_depth = 0;
/// While it lives, this thread is in the runtime.
struct Inside {
  Inside() { ++call_depth; }
  ~Inside() { --call_depth; }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
};

template <typename T> void put(void *to, T value) { std::memcpy(to, &value, sizeof value); }

} // namespace

struct FakeCalls {
  static hsa_status_t allocate(hsa_amd_memory_pool_t, size_t size, uint32_t, void **memory) {
    const Inside inside;
    const std::lock_guard lock(fake_mutex);
    if (current->handed_out_ + size > current->most_memory)
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *memory = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    current->handed_out_ += size;
    current->allocations_[static_cast<std::byte *>(*memory)] = size;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t release(void *memory) {
    const std::lock_guard lock(fake_mutex);
    const auto at = current->allocations_.find(static_cast<std::byte *>(memory));
    if (at == current->allocations_.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    current->handed_out_ -= at->second;
    current->allocations_.erase(at);
    std::free(memory);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t allowAccess(uint32_t, const hsa_agent_t *, const uint32_t *, const void *) {
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t createSignal(hsa_signal_value_t value, uint32_t, const hsa_agent_t *,
                                   uint64_t, hsa_signal_t *signal) {
    if (const auto first = std::exchange(current->before_a_signal, nullptr)) first();
    const Inside inside;
    auto *memory = new amd_signal_t{};
    memory->value = value;
    signal->handle = reinterpret_cast<uint64_t>(memory);
    const std::lock_guard lock(fake_mutex);
    current->signals_.insert(signal->handle);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t destroySignal(hsa_signal_t signal) {
    const std::lock_guard lock(fake_mutex);
    current->signals_.erase(signal.handle);
    delete memoryOf(signal);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_signal_value_t load(hsa_signal_t signal) {
    const hsa_signal_value_t value = valueOf(signal).load();
    if (signal.handle == current->polled) ++current->polls;
    return value;
  }
  static void store(hsa_signal_t signal, hsa_signal_value_t value) { valueOf(signal).store(value); }
  /// Does not wait: its time is always over.
  static hsa_signal_value_t wait(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                                 uint64_t, hsa_wait_state_t) {
    return load(signal);
  }
  static hsa_status_t copy(void *to, const void *from, size_t size) {
    if (current->copies_until_failure == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (current->copies_until_failure > 0) --current->copies_until_failure;
    std::memcpy(to, from, size);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t asyncCopy(void *to, hsa_agent_t, const void *from, hsa_agent_t, size_t size,
                                uint32_t, const hsa_signal_t *, hsa_signal_t done) {
    const hsa_status_t status = copy(to, from, size);
    if (ok(status)) current->complete(done);
    return status;
  }
  static hsa_status_t copyOnEngine(void *to, hsa_agent_t to_agent, const void *from,
                                   hsa_agent_t from_agent, size_t size, uint32_t count,
                                   const hsa_signal_t *signals, hsa_signal_t done, uint32_t engine,
                                   bool) {
    if (engine == FakeHsa::kRefusedEngine) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return asyncCopy(to, to_agent, from, from_agent, size, count, signals, done);
  }
  /// Of one row.
  static hsa_status_t copyRect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *,
                               const hsa_pitched_ptr_t *from, const hsa_dim3_t *,
                               const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t,
                               uint32_t count, const hsa_signal_t *signals, hsa_signal_t done) {
    return asyncCopy(to->base, agent, from->base, agent, range->x, count, signals, done);
  }
  /// The handle is the address.
  static hsa_status_t attach(const hsa_amd_ipc_memory_t *handle, size_t, uint32_t,
                             const hsa_agent_t *, void **memory) {
    std::memcpy(memory, handle, sizeof *memory);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t detach(void *) { return HSA_STATUS_SUCCESS; }
  static hsa_status_t createPlainSignal(hsa_signal_value_t value, uint32_t, const hsa_agent_t *,
                                        hsa_signal_t *signal) {
    return createSignal(value, 0, nullptr, 0, signal);
  }
  static void subtract(hsa_signal_t signal, hsa_signal_value_t value) {
    valueOf(signal).fetch_sub(value);
  }
  static hsa_status_t onSignal(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                               hsa_amd_signal_handler handler, void *data) {
    const Inside inside;
    const std::lock_guard lock(fake_mutex);
    current->waiting_[signal.handle] = {handler, data};
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t dispatchTime(hsa_agent_t, hsa_signal_t,
                                   hsa_amd_profiling_dispatch_time_t *time) {
    *time = {100, 200};
    return HSA_STATUS_SUCCESS;
  }

  static hsa_status_t systemInfo(hsa_system_info_t what, void *value) {
    constexpr int build_version = 0x200;
    if (static_cast<int>(what) == build_version) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (what == HSA_SYSTEM_INFO_VERSION_MAJOR || what == HSA_SYSTEM_INFO_VERSION_MINOR) {
      put(value, uint16_t{1});
      return HSA_STATUS_SUCCESS;
    }
    put(value, uint64_t{1'000'000'000});
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t extensionTable(uint16_t, uint16_t, size_t size, void *table) {
    if (!current->tells_code) return HSA_STATUS_ERROR; // there is none
    hsa_ven_amd_loader_1_03_pfn_t loader{};
    loader.hsa_ven_amd_loader_iterate_executables = iterateExecutables;
    loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects = iterateCode;
    loader.hsa_ven_amd_loader_loaded_code_object_get_info = codeInfo;
    std::memcpy(table, &loader, std::min(size, sizeof loader));
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t iterateExecutables(hsa_status_t (*callback)(hsa_executable_t, void *),
                                         void *data) {
    std::vector<uint64_t> executables;
    {
      const std::lock_guard lock(fake_mutex);
      for (const auto &[executable, code] : current->code_) executables.push_back(executable);
    }
    for (const uint64_t executable : executables)
      if (const hsa_status_t status = callback({executable}, data); status != HSA_STATUS_SUCCESS)
        return status;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t iterateCode(hsa_executable_t executable,
                                  hsa_status_t (*callback)(hsa_executable_t,
                                                           hsa_loaded_code_object_t, void *),
                                  void *data) {
    return callback(executable, {executable.handle}, data);
  }
  static hsa_status_t codeInfo(hsa_loaded_code_object_t object,
                               hsa_ven_amd_loader_loaded_code_object_info_t what, void *value) {
    const std::lock_guard lock(fake_mutex);
    switch (what) {
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
      std::memcpy(value, &current->gpu.handle, sizeof current->gpu.handle);
      return HSA_STATUS_SUCCESS;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE: {
      const void *base = current->code_.at(object.handle);
      std::memcpy(value, &base, sizeof base);
      return HSA_STATUS_SUCCESS;
    }
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE: {
      const uint64_t size = kCodeBytes;
      std::memcpy(value, &size, sizeof size);
      return HSA_STATUS_SUCCESS;
    }
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  }
  static hsa_status_t iterateAgents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data) {
    callback(current->gpu.handle, data);
    return callback(current->host.handle, data);
  }
  static bool isGpu(hsa_agent_t agent) { return agent.handle == current->gpu.handle.handle; }
  /// AMD's kinds of information have numbers beyond those of the type.
  __attribute__((no_sanitize("enum"))) static hsa_status_t
  agentInfo(hsa_agent_t agent, hsa_agent_info_t what, void *value) {
    if (what == HSA_AGENT_INFO_DEVICE)
      put(value, isGpu(agent) ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    else if (what == HSA_AGENT_INFO_NAME || static_cast<uint32_t>(what) == 0xA009) // product
      std::strcpy(static_cast<char *>(value),
                  isGpu(agent) ? current->gpu.target.c_str() : "processor");
    else
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t iterateIsas(hsa_agent_t, hsa_status_t (*)(hsa_isa_t, void *), void *) {
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t iteratePools(hsa_agent_t agent,
                                   hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *),
                                   void *data) {
    if (isGpu(agent)) return callback(*current->gpu.device_pool, data);
    callback(*current->host.host_pool, data);
    return callback(*current->host.kernarg_pool, data);
  }
  static hsa_status_t poolInfo(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what,
                               void *value) {
    if (what == HSA_AMD_MEMORY_POOL_INFO_SEGMENT)
      put(value, HSA_AMD_SEGMENT_GLOBAL);
    else if (what == HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)
      put(value, true);
    else if (pool.handle == current->gpu.device_pool->handle)
      put(value, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED});
    else
      put(value, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED} |
                     (pool.handle == current->host.kernarg_pool->handle
                          ? uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT}
                          : 0));
    return HSA_STATUS_SUCCESS;
  }

  static hsa_status_t createReader(const void *bytes, size_t size,
                                   hsa_code_object_reader_t *reader) {
    const Inside inside;
    const std::lock_guard lock(fake_mutex);
    reader->handle = ++current->next_handle_;
    current->readers_[reader->handle] =
        codeobj::Blob::borrow({static_cast<const uint8_t *>(bytes), size}, "code");
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t destroyReader(hsa_code_object_reader_t reader) {
    const std::lock_guard lock(fake_mutex);
    current->readers_.erase(reader.handle);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t createExecutable(hsa_profile_t, hsa_default_float_rounding_mode_t,
                                       const char *, hsa_executable_t *executable) {
    const Inside inside;
    const std::lock_guard lock(fake_mutex);
    executable->handle = ++current->next_handle_;
    current->executables_[executable->handle];
    if (current->tells_code)
      current->code_[executable->handle] = static_cast<std::byte *>(
          mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t destroyExecutable(hsa_executable_t executable) {
    if (const auto first = std::exchange(current->before_an_unload, nullptr)) first();
    const std::lock_guard lock(fake_mutex);
    if (const auto code = current->code_.extract(executable.handle))
      munmap(code.mapped(), kCodeBytes);
    current->executables_.erase(executable.handle);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t load(hsa_executable_t executable, hsa_agent_t,
                           hsa_code_object_reader_t reader, const char *,
                           hsa_loaded_code_object_t *) {
    const Inside inside;
    ++current->loads;
    if (is_ringing) ++current->doorbell_loads;
    const std::lock_guard lock(fake_mutex);
    const auto code = codeobj::CodeObject::open(current->readers_.at(reader.handle));
    if (!code) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    for (std::size_t i = 0; i < (*code)->kernelCount(); ++i) {
      const auto kernel = (*code)->kernel(i);
      if (!kernel) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
      current->executables_[executable.handle].push_back(
          {std::string((*code)->kernelName(i).name) + ".kd", ++current->next_handle_ << 8,
           kernel->metadata.kernarg_segment_size, kernel->metadata.group_segment_fixed_size});
    }
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t freeze(hsa_executable_t, const char *) { return HSA_STATUS_SUCCESS; }
  static hsa_status_t iterateSymbols(hsa_executable_t executable, hsa_agent_t agent,
                                     hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t,
                                                              hsa_executable_symbol_t, void *),
                                     void *data) {
    for (const FakeHsa::Kernel &kernel : current->executables_.at(executable.handle))
      callback(executable, agent, {reinterpret_cast<uint64_t>(&kernel)}, data);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t symbolByName(hsa_executable_t executable, const char *name,
                                   const hsa_agent_t *, hsa_executable_symbol_t *symbol) {
    const std::lock_guard lock(fake_mutex);
    for (const FakeHsa::Kernel &kernel : current->executables_.at(executable.handle))
      if (kernel.name == name) {
        symbol->handle = reinterpret_cast<uint64_t>(&kernel);
        return HSA_STATUS_SUCCESS;
      }
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  }
  static hsa_status_t symbolInfo(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
                                 void *value) {
    const auto &kernel = *reinterpret_cast<const FakeHsa::Kernel *>(symbol.handle);
    switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: put(value, HSA_SYMBOL_KIND_KERNEL); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      put(value, static_cast<uint32_t>(kernel.name.size()));
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      std::memcpy(value, kernel.name.data(), kernel.name.size());
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: put(value, kernel.object); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
      put(value, kernel.kernarg_size);
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE: put(value, kernel.group_size); break;
    default: put(value, uint32_t{0});
    }
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t statusString(hsa_status_t, const char **text) {
    *text = "as the test wants it";
    return HSA_STATUS_SUCCESS;
  }

  static FakeHsa::Queue &addQueue(uint32_t size, hsa_queue_type32_t type,
                                  QueueErrorFunction callback, void *data) {
    const Inside inside;
    const std::lock_guard lock(fake_mutex);
    FakeHsa::Queue &made = current->queues_.emplace_back();
    made.handle.size = size;
    made.handle.type = type;
    made.on_error = callback;
    made.on_error_data = data;
    return made;
  }
  static hsa_status_t createQueue(hsa_agent_t, uint32_t size, hsa_queue_type32_t type,
                                  QueueErrorFunction callback, void *data, uint32_t, uint32_t,
                                  hsa_queue_t **queue) {
    *queue = &addQueue(size, type, callback, data).handle;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t createPlainQueue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                       QueueErrorFunction callback, void *data, uint32_t p,
                                       uint32_t g, hsa_queue_t **queue) {
    const hsa_status_t status = createQueue(agent, size, type, callback, data, p, g, queue);
    reinterpret_cast<FakeHsa::Queue *>(*queue)->can_be_watched = current->can_watch_own_queues;
    return status;
  }
  static hsa_status_t destroyQueue(hsa_queue_t *queue) {
    auto &made = *reinterpret_cast<FakeHsa::Queue *>(queue);
    if (made.is_destroyed) return HSA_STATUS_ERROR_INVALID_QUEUE;
    made.is_destroyed = true;
    return HSA_STATUS_SUCCESS;
  }
  /// The runtime's own way: a ring of 3 packets is nothing for it.
  static hsa_status_t createDescribed(hsa_agent_t agent, QueueDescriptor *descriptors,
                                      uint32_t count) {
    if (!descriptors || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    hsa_status_t first_error = HSA_STATUS_SUCCESS;
    for (uint32_t i = 0; i < count; ++i) {
      QueueDescriptor &d = descriptors[i];
      d.queue = nullptr;
      current->described.push_back(d);
      if (d.ring_bytes % 128 != 0 || d.reserved[0] != 0) {
        first_error = ok(first_error) ? HSA_STATUS_ERROR_INVALID_ARGUMENT : first_error;
        continue;
      }
      createPlainQueue(agent, d.ring_bytes / 64, d.compute.type, d.callback, d.callback_data, 0, 0,
                       &d.queue);
    }
    return first_error;
  }
  static hsa_status_t acquireCounted(hsa_agent_t agent, uint32_t type, uint32_t,
                                     QueueErrorFunction callback, void *data, uint64_t,
                                     hsa_queue_t **queue) {
    if (type != HSA_QUEUE_TYPE_MULTI) return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
    createPlainQueue(agent, 64, type, callback, data, 0, 0, queue);
    current->counted.insert(*queue);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t releaseCounted(hsa_queue_t *queue) {
    return current->counted.erase(queue) != 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  }
  static hsa_status_t batchCopy(const CopyOperation *operations, uint32_t count, uint32_t,
                                const hsa_signal_t *) {
    if (!operations || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    current->batch.assign(operations, operations + count);
    for (const CopyOperation &one : current->batch)
      if (const hsa_status_t status = copy(one.to, one.from, one.size); !ok(status)) return status;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t prefetch(void *, size_t size, hsa_agent_t, uint32_t, const hsa_signal_t *,
                               hsa_signal_t) {
    return size == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_SUCCESS;
  }
  /// Of a version that has one: seven parameters.
  static hsa_status_t createSdma(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word, Word,
                                 Word, Word, Word) {
    return a + b + c + d + e + f + 10 * g == 91 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  }
  static hsa_status_t setPriority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority) {
    current->priorities.emplace_back(queue, priority);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t setMask(const hsa_queue_t *queue, uint32_t bits, const uint32_t *mask) {
    constexpr auto reduced = static_cast<hsa_status_t>(44); // some of it was taken away
    if (bits > 64) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    current->masks.emplace_back(const_cast<hsa_queue_t *>(queue),
                                std::vector<uint32_t>(mask, mask + bits / 32));
    return reduced;
  }
  static hsa_status_t watchQueue(hsa_queue_t *queue, hsa_amd_queue_intercept_handler handler,
                                 void *data) {
    const Inside inside;
    FakeHsa::Queue &watched = *reinterpret_cast<FakeHsa::Queue *>(queue);
    if (!watched.can_be_watched) return HSA_STATUS_ERROR_INVALID_QUEUE;
    watched.handler = handler;
    watched.data = data;
    static auto *all = new std::vector<void *>; // never given back: LeakSanitizer finds it there
    all->push_back(data);
    return HSA_STATUS_SUCCESS;
  }

  // What the library exports: each calls what is in the table.
  template <typename... P>
  FADE_ANY_FUNCTION static hsa_status_t through(const char *name, P... parameters) {
    return current->late<hsa_status_t(P...)>(name)(parameters...);
  }
  static hsa_status_t exportedCreate(hsa_agent_t agent, QueueDescriptor *d, uint32_t count) {
    return through("hsa_amd_queue_create", agent, d, count);
  }
  static hsa_status_t exportedAcquire(hsa_agent_t agent, uint32_t type, uint32_t priority,
                                      QueueErrorFunction callback, void *data, uint64_t flags,
                                      hsa_queue_t **queue) {
    return through("hsa_amd_counted_queue_acquire", agent, type, priority, callback, data, flags,
                   queue);
  }
  static hsa_status_t exportedRelease(hsa_queue_t *queue) {
    return through("hsa_amd_counted_queue_release", queue);
  }
  static hsa_status_t exportedBatch(const CopyOperation *operations, uint32_t count,
                                    uint32_t wait_count, const hsa_signal_t *waits_for) {
    return through("hsa_amd_memory_async_batch_copy", operations, count, wait_count, waits_for);
  }
  FADE_ANY_FUNCTION static hsa_status_t exportedSdma(Word a, Word b, Word c, Word d, Word e, Word f,
                                                     Word g) {
    return through("hsa_amd_sdma_queue_create", a, b, c, d, e, f, g);
  }
  static void *exported(std::string_view name) {
    if (name == "hsa_amd_sdma_queue_create") return reinterpret_cast<void *>(exportedSdma);
    if (name == "hsa_amd_queue_create") return reinterpret_cast<void *>(exportedCreate);
    if (name == "hsa_amd_counted_queue_acquire") return reinterpret_cast<void *>(exportedAcquire);
    if (name == "hsa_amd_counted_queue_release") return reinterpret_cast<void *>(exportedRelease);
    if (name == "hsa_amd_memory_async_batch_copy") return reinterpret_cast<void *>(exportedBatch);
    return nullptr;
  }
  static hsa_status_t setProfiling(hsa_queue_t *, int) { return HSA_STATUS_SUCCESS; }
};

constexpr std::size_t kHeader = sizeof(ApiTableVersion) / sizeof(void *);

// Not where the headers have them: FADE is to find them.
std::size_t FakeHsa::placeOf(const char *name) {
  constexpr std::string_view names[] = {
      "hsa_amd_memory_async_batch_copy", "hsa_amd_queue_create", "hsa_amd_counted_queue_release",
      "hsa_amd_counted_queue_acquire", "hsa_amd_sdma_queue_create"};
  const auto at = std::ranges::find(names, name);
  return kHeader + 76 + 2 * static_cast<std::size_t>(at - std::begin(names));
}

FakeHsa::FakeHsa(std::size_t entries) {
  current = this;
  HsaApi &api = hsaApi();
  api = {};
  api.amd.hsa_amd_memory_pool_allocate_fn = FakeCalls::allocate;
  api.amd.hsa_amd_memory_pool_free_fn = FakeCalls::release;
  api.amd.hsa_amd_agents_allow_access_fn = FakeCalls::allowAccess;
  api.amd.hsa_amd_signal_create_fn = FakeCalls::createSignal;
  api.amd.hsa_amd_memory_async_copy_fn = FakeCalls::asyncCopy;
  api.amd.hsa_amd_memory_async_copy_on_engine_fn = FakeCalls::copyOnEngine;
  api.amd.hsa_amd_memory_async_copy_rect_fn = FakeCalls::copyRect;
  api.amd.hsa_amd_ipc_memory_attach_fn = FakeCalls::attach;
  api.amd.hsa_amd_ipc_memory_detach_fn = FakeCalls::detach;
  api.core.hsa_signal_destroy_fn = FakeCalls::destroySignal;
  api.core.hsa_signal_load_scacquire_fn = FakeCalls::load;
  api.core.hsa_signal_load_relaxed_fn = FakeCalls::load;
  api.core.hsa_signal_wait_scacquire_fn = FakeCalls::wait;
  api.core.hsa_signal_wait_relaxed_fn = FakeCalls::wait;
  api.core.hsa_signal_store_relaxed_fn = FakeCalls::store;
  api.core.hsa_signal_store_screlease_fn = FakeCalls::store;
  api.core.hsa_memory_copy_fn = FakeCalls::copy;
  api.core.hsa_signal_create_fn = FakeCalls::createPlainSignal;
  api.core.hsa_signal_subtract_screlease_fn = FakeCalls::subtract;
  api.amd.hsa_amd_signal_async_handler_fn = FakeCalls::onSignal;
  api.amd.hsa_amd_profiling_get_dispatch_time_fn = FakeCalls::dispatchTime;
  api.core.hsa_system_get_info_fn = FakeCalls::systemInfo;
  api.core.hsa_system_get_major_extension_table_fn = FakeCalls::extensionTable;
  api.core.hsa_iterate_agents_fn = FakeCalls::iterateAgents;
  api.core.hsa_agent_get_info_fn = FakeCalls::agentInfo;
  api.core.hsa_agent_iterate_isas_fn = FakeCalls::iterateIsas;
  api.amd.hsa_amd_agent_iterate_memory_pools_fn = FakeCalls::iteratePools;
  api.amd.hsa_amd_memory_pool_get_info_fn = FakeCalls::poolInfo;
  api.core.hsa_code_object_reader_create_from_memory_fn = FakeCalls::createReader;
  api.core.hsa_code_object_reader_destroy_fn = FakeCalls::destroyReader;
  api.core.hsa_executable_create_alt_fn = FakeCalls::createExecutable;
  api.core.hsa_executable_destroy_fn = FakeCalls::destroyExecutable;
  api.core.hsa_executable_load_agent_code_object_fn = FakeCalls::load;
  api.core.hsa_executable_freeze_fn = FakeCalls::freeze;
  api.core.hsa_executable_iterate_agent_symbols_fn = FakeCalls::iterateSymbols;
  api.core.hsa_executable_get_symbol_by_name_fn = FakeCalls::symbolByName;
  api.core.hsa_executable_symbol_get_info_fn = FakeCalls::symbolInfo;
  api.core.hsa_status_string_fn = FakeCalls::statusString;
  api.core.hsa_queue_create_fn = FakeCalls::createPlainQueue;
  api.core.hsa_queue_destroy_fn = FakeCalls::destroyQueue;
  api.amd.hsa_amd_queue_intercept_create_fn = FakeCalls::createQueue;
  api.amd.hsa_amd_queue_intercept_register_fn = FakeCalls::watchQueue;
  api.amd.hsa_amd_profiling_set_profiler_enabled_fn = FakeCalls::setProfiling;
  api.amd.hsa_amd_queue_set_priority_fn = FakeCalls::setPriority;
  api.amd.hsa_amd_svm_prefetch_async_fn = FakeCalls::prefetch;
  api.amd.hsa_amd_queue_cu_set_mask_fn = FakeCalls::setMask;
  gpu.handle = {1};
  gpu.number = 1;
  gpu.is_gpu = true;
  gpu.target = "gfx90a";
  gpu.device_pool = {10};
  host.handle = {2};
  host.host_pool = {20};
  host.kernarg_pool = {21};

  core_ = api.core;
  core_.version = {2, sizeof core_, 0, 0};
  amd_.resize(kHeader + entries);
  const ApiTableVersion version{2, static_cast<uint32_t>(amd_.size() * sizeof(void *)), 0, 0};
  std::memcpy(amd_.data(), &version, sizeof version);
#define FADE_ENTRY(name, early, late)                                                              \
  amd_[kHeader + (late)] = reinterpret_cast<void *>(api.amd.name##_fn);
  FADE_AMD_ENTRIES(FADE_ENTRY)
#undef FADE_ENTRY
  if (entries > 76) {
    const auto put = [&](const char *name, auto function) {
      amd_.at(placeOf(name)) = reinterpret_cast<void *>(function);
    };
    put("hsa_amd_queue_create", FakeCalls::createDescribed);
    put("hsa_amd_counted_queue_acquire", FakeCalls::acquireCounted);
    put("hsa_amd_counted_queue_release", FakeCalls::releaseCounted);
    put("hsa_amd_memory_async_batch_copy", FakeCalls::batchCopy);
    put("hsa_amd_sdma_queue_create", FakeCalls::createSdma);
  }
  HsaApiTable table{};
  table.core_ = &core_;
  table.amd_ext_ = reinterpret_cast<AmdExtTable *>(amd_.data());
  const auto exports = [entries](const char *name) {
    void *function = entries > 76 ? FakeCalls::exported(name) : nullptr;
    return function ? std::vector{function} : std::vector<void *>();
  };
  if (!tables_.read(table, exports)) std::abort();
}

bool FakeHsa::isInside() { return call_depth != 0; }

FakeHsa::~FakeHsa() {
  for (const auto &[memory, size] : allocations_) std::free(memory);
  for (const uint64_t signal : signals_) delete memoryOf({signal});
  for (const auto &[executable, code] : code_) munmap(code, kCodeBytes);
  hsaApi() = {};
  current = nullptr;
}

hsa_executable_t FakeHsa::load(const std::string &path) {
  const auto blob = [&] {
    const Inside inside; // the application's memory
    return codeobj::Blob::mapFile(path);
  }();
  if (!blob) std::abort();
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  core_.hsa_code_object_reader_create_from_memory_fn(blob->bytes().data(), blob->bytes().size(),
                                                     &reader);
  core_.hsa_executable_create_alt_fn(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                     nullptr, &executable);
  core_.hsa_executable_load_agent_code_object_fn(executable, gpu.handle, reader, nullptr, nullptr);
  core_.hsa_executable_freeze_fn(executable, nullptr);
  core_.hsa_code_object_reader_destroy_fn(reader);
  return executable;
}

uint64_t FakeHsa::kernelObject(hsa_executable_t executable, const std::string &symbol) const {
  for (const Kernel &kernel : executables_.at(executable.handle))
    if (kernel.name == symbol + ".kd") return kernel.object;
  return 0;
}

const std::byte *FakeHsa::codeOf(hsa_executable_t executable) const {
  return code_.at(executable.handle);
}

hsa_queue_t *FakeHsa::createQueue(uint32_t size) {
  hsa_queue_t *queue = nullptr;
  core_.hsa_queue_create_fn(gpu.handle, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue);
  return queue;
}

FakeHsa::Packets FakeHsa::ring(hsa_queue_t *queue, const hsa_kernel_dispatch_packet_t *packets,
                               uint64_t count) {
  const Queue &watched = *reinterpret_cast<const Queue *>(queue);
  if (!watched.handler) return {packets, packets + count};
  packets_passed_on.clear();
  is_ringing = true;
  watched.handler(packets, count, 0, watched.data, [](const void *more, uint64_t count) {
    const Inside inside;
    const auto *from = static_cast<const hsa_kernel_dispatch_packet_t *>(more);
    packets_passed_on.insert(packets_passed_on.end(), from, from + count);
  });
  is_ringing = false;
  const Inside inside;
  return packets_passed_on;
}

hsa_status_t FakeHsa::copyOnEngine(void *to, const void *from, std::size_t size,
                                   hsa_signal_t waits_for, hsa_signal_t done, uint32_t engine) {
  constexpr std::size_t entry = kHeader + 16;
  const auto copy = reinterpret_cast<decltype(&FakeCalls::copyOnEngine)>(amd_[entry]);
  return copy(to, host.handle, from, gpu.handle, size, 1, &waits_for, done, engine, true);
}

hsa_status_t FakeHsa::copyRow(void *to, const void *from, uint32_t size, hsa_signal_t done) {
  constexpr std::size_t entry = kHeader + 40;
  const auto copy = reinterpret_cast<decltype(&FakeCalls::copyRect)>(amd_[entry]);
  const hsa_pitched_ptr_t target{to, size, size}, source{const_cast<void *>(from), size, size};
  const hsa_dim3_t nowhere{0, 0, 0}, range{size, 1, 1};
  return copy(&target, &nowhere, &source, &nowhere, &range, gpu.handle, hsaHostToDevice, 0, nullptr,
              done);
}

hsa_status_t FakeHsa::prefetch(std::size_t size) {
  constexpr std::size_t entry = kHeader + 48;
  return reinterpret_cast<decltype(&FakeCalls::prefetch)>(amd_[entry])(nullptr, size, gpu.handle, 0,
                                                                       nullptr, {});
}

hsa_status_t FakeHsa::openOther(void *memory, std::size_t size) {
  constexpr std::size_t entry = kHeader + 31;
  hsa_amd_ipc_memory_t handle{};
  std::memcpy(&handle, &memory, sizeof memory);
  return reinterpret_cast<decltype(&FakeCalls::attach)>(amd_[entry])(&handle, size, 0, nullptr,
                                                                     &memory);
}

hsa_status_t FakeHsa::closeOther(void *memory) {
  constexpr std::size_t entry = kHeader + 32;
  return reinterpret_cast<decltype(&FakeCalls::detach)>(amd_[entry])(memory);
}

bool FakeHsa::isPolled(hsa_signal_t signal) {
  polls = 0;
  polled = signal.handle;
  for (int i = 0; i < 20'000 && polls < 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  polled = 0;
  return polls >= 3;
}

void FakeHsa::complete(hsa_signal_t signal) {
  FakeCalls::store(signal, 0);
  Waiting waiting{};
  {
    const std::lock_guard lock(fake_mutex);
    if (auto node = waiting_.extract(signal.handle)) waiting = node.mapped();
  }
  if (waiting.handler) waiting.handler(0, waiting.data);
}

} // namespace fade
