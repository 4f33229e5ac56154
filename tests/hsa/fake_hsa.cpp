#include "fake_hsa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace fade {
namespace {

FakeHsa *current = nullptr;
std::mutex mutex;

std::atomic<int64_t> &valueOf(hsa_signal_t signal) {
  return *reinterpret_cast<std::atomic<int64_t> *>(signal.handle);
}

} // namespace

struct FakeCalls {
  static hsa_status_t allocate(hsa_amd_memory_pool_t, size_t size, uint32_t, void **memory) {
    const std::lock_guard lock(mutex);
    if (current->handed_out_ + size > current->most_memory)
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *memory = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    current->handed_out_ += size;
    current->allocations_[static_cast<std::byte *>(*memory)] = size;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t release(void *memory) {
    const std::lock_guard lock(mutex);
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
    signal->handle = reinterpret_cast<uint64_t>(new std::atomic<int64_t>(value));
    const std::lock_guard lock(mutex);
    current->signals_.insert(signal->handle);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t destroySignal(hsa_signal_t signal) {
    const std::lock_guard lock(mutex);
    current->signals_.erase(signal.handle);
    delete &valueOf(signal);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_signal_value_t load(hsa_signal_t signal) { return valueOf(signal); }
  static void store(hsa_signal_t signal, hsa_signal_value_t value) { valueOf(signal) = value; }
  static hsa_status_t copy(void *to, const void *from, size_t size) {
    if (current->copies_until_failure == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (current->copies_until_failure > 0) --current->copies_until_failure;
    std::memcpy(to, from, size);
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t asyncCopy(void *to, hsa_agent_t, const void *from, hsa_agent_t, size_t size,
                                uint32_t, const hsa_signal_t *, hsa_signal_t done) {
    const hsa_status_t status = copy(to, from, size);
    if (ok(status)) store(done, 0);
    return status;
  }
};

FakeHsa::FakeHsa() {
  current = this;
  HsaApi &api = hsaApi();
  api = {};
  api.amd.hsa_amd_memory_pool_allocate_fn = FakeCalls::allocate;
  api.amd.hsa_amd_memory_pool_free_fn = FakeCalls::release;
  api.amd.hsa_amd_agents_allow_access_fn = FakeCalls::allowAccess;
  api.amd.hsa_amd_signal_create_fn = FakeCalls::createSignal;
  api.amd.hsa_amd_memory_async_copy_fn = FakeCalls::asyncCopy;
  api.core.hsa_signal_destroy_fn = FakeCalls::destroySignal;
  api.core.hsa_signal_load_scacquire_fn = FakeCalls::load;
  api.core.hsa_signal_load_relaxed_fn = FakeCalls::load;
  api.core.hsa_signal_store_relaxed_fn = FakeCalls::store;
  api.core.hsa_signal_store_screlease_fn = FakeCalls::store;
  api.core.hsa_memory_copy_fn = FakeCalls::copy;
  gpu.handle = {1};
  gpu.number = 1;
  gpu.is_gpu = true;
  gpu.target = "gfx90a";
  gpu.device_pool = {10};
  host.handle = {2};
  host.host_pool = {20};
  host.kernarg_pool = {21};
}

FakeHsa::~FakeHsa() {
  for (const auto &[memory, size] : allocations_) std::free(memory);
  for (const uint64_t signal : signals_) delete &valueOf({signal});
  hsaApi() = {};
  current = nullptr;
}

} // namespace fade
