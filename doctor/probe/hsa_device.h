// A GPU through HSA alone. The runtime is opened when the program runs, so that one program serves
// every ROCm.
#pragma once

#include "outcome.h"

#include <atomic>
#include <cstdint>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace fade::probe {

/// The functions of the runtime that was found.
struct HsaApi {
#define FADE_HSA_FUNCTIONS(X)                                                                      \
  X(hsa_init)                                                                                      \
  X(hsa_shut_down)                                                                                 \
  X(hsa_status_string)                                                                             \
  X(hsa_iterate_agents)                                                                            \
  X(hsa_agent_get_info)                                                                            \
  X(hsa_system_get_info)                                                                           \
  X(hsa_signal_create)                                                                             \
  X(hsa_signal_destroy)                                                                            \
  X(hsa_signal_store_screlease)                                                                    \
  X(hsa_signal_add_screlease)                                                                      \
  X(hsa_signal_wait_scacquire)                                                                     \
  X(hsa_queue_create)                                                                              \
  X(hsa_queue_destroy)                                                                             \
  X(hsa_queue_add_write_index_scacq_screl)                                                         \
  X(hsa_queue_load_read_index_scacquire)                                                           \
  X(hsa_code_object_reader_create_from_memory)                                                     \
  X(hsa_executable_create_alt)                                                                     \
  X(hsa_executable_load_agent_code_object)                                                         \
  X(hsa_executable_freeze)                                                                         \
  X(hsa_executable_get_symbol_by_name)                                                             \
  X(hsa_executable_symbol_get_info)                                                                \
  X(hsa_amd_agent_iterate_memory_pools)                                                            \
  X(hsa_amd_memory_pool_get_info)                                                                  \
  X(hsa_amd_memory_pool_allocate)                                                                  \
  X(hsa_amd_memory_pool_free)                                                                      \
  X(hsa_amd_agents_allow_access)                                                                   \
  X(hsa_amd_memory_async_copy)                                                                     \
  X(hsa_amd_register_system_event_handler)
#define FADE_DECLARE(name) decltype(&::name) name = nullptr;
  FADE_HSA_FUNCTIONS(FADE_DECLARE)
#undef FADE_DECLARE
  /// Not in every version; may be null.
  decltype(&::hsa_amd_svm_attributes_set) hsa_amd_svm_attributes_set = nullptr;

  /// Throws Failed.
  void check(hsa_status_t status, const std::string &what) const;
};

struct Pool {
  hsa_amd_memory_pool_t handle{};
  hsa_agent_t owner{};
  bool is_fine_grained = false, is_kernarg = false;
  uint64_t size = 0, granule = 0, largest = 0;
};

class Device;

/// Memory of a pool, which goes with the object.
class Buffer {
public:
  Buffer(const Device &device, const Pool &pool, uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  template <class T> T *as() const { return static_cast<T *>(address_); }
  uint64_t bytes() const { return bytes_; }

private:
  const HsaApi &api_;
  void *address_ = nullptr;
  uint64_t bytes_ = 0;
};

struct Kernel {
  uint64_t object = 0;
  uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
};

/// A queue with what a launch needs.
class Queue {
public:
  explicit Queue(const Device &device);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  /// Arguments as they lie in memory. Returns at once.
  void launch(const Kernel &kernel, uint32_t items, std::span<const uint8_t> arguments);
  /// Until all that was launched has ended. Throws Failed if the queue stops with an error.
  void wait();

private:
  const Device &device_;
  hsa_queue_t *queue_ = nullptr;
  hsa_signal_t done_{};
  std::vector<std::unique_ptr<Buffer>> arguments_;
  std::atomic<int> error_{0};
};

/// One GPU agent.
class Device {
public:
  Device(const HsaApi &api, hsa_agent_t agent, hsa_agent_t host);

  const HsaApi &api() const { return api_; }
  hsa_agent_t agent() const { return agent_; }
  hsa_agent_t host() const { return host_; }
  const std::string &name() const { return name_; } ///< gfx90a
  const std::vector<Pool> &pools() const { return pools_; }
  const std::vector<Pool> &hostPools() const { return host_pools_; }
  /// Its own memory, the coarse-grained kind; throws Failed if there is none.
  const Pool &memory() const;
  /// Memory of the host that both sides see at once.
  const Pool &hostMemory() const;
  /// Memory of the host for arguments of kernels.
  const Pool &kernargs() const;

  /// A kernel by its name and the kind of its code. Throws Skipped if there is none for this GPU.
  Kernel kernel(const char *name, const char *kind = "probe");
  void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
            uint64_t bytes) const;

private:
  void load(const char *kind);

  const HsaApi &api_;
  hsa_agent_t agent_, host_;
  std::string name_;
  std::vector<Pool> pools_, host_pools_;
  hsa_executable_t executable_{};
};

/// The runtime of this process and its GPUs.
class Runtime {
public:
  /// Throws Failed.
  Runtime();
  const HsaApi &api() const { return api_; }
  std::vector<Device> &devices() { return devices_; }
  const std::string &path() const { return path_; }

private:
  HsaApi api_;
  std::string path_;
  std::vector<Device> devices_;
};

/// A code object that was built into this program: of kernels.cl ("probe"), fade_kernels.cl
/// ("fade") or peaks.cl ("peaks"). The processor's own, or that of the generic target it belongs
/// to; empty if there is neither.
std::span<const uint8_t> codeFor(std::string_view kind, std::string_view processor);
/// By the very name.
std::span<const uint8_t> codeNamed(std::string_view kind, std::string_view processor);

/// Says it and ends the process: for errors that arrive on threads of the runtime.
[[noreturn]] void endWith(const char *outcome, const std::string &text);

} // namespace fade::probe
