// The HSA runtime, opened when it is needed: fade-replay can be started without ROCm, and holds
// addresses before libraries take them.
#pragma once

#include "base/result.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <optional>
#include <string>

namespace fade::replay {

#define FADE_REPLAY_HSA(X)                                                                         \
  X(hsa_init)                                                                                      \
  X(hsa_shut_down)                                                                                 \
  X(hsa_status_string)                                                                             \
  X(hsa_iterate_agents)                                                                            \
  X(hsa_agent_get_info)                                                                            \
  X(hsa_system_get_info)                                                                           \
  X(hsa_amd_agent_iterate_memory_pools)                                                            \
  X(hsa_amd_memory_pool_get_info)                                                                  \
  X(hsa_amd_memory_pool_allocate)                                                                  \
  X(hsa_amd_memory_pool_free)                                                                      \
  X(hsa_amd_pointer_info)                                                                          \
  X(hsa_amd_agents_allow_access)                                                                   \
  X(hsa_memory_copy)                                                                               \
  X(hsa_code_object_reader_create_from_memory)                                                     \
  X(hsa_executable_create_alt)                                                                     \
  X(hsa_executable_load_agent_code_object)                                                         \
  X(hsa_executable_freeze)                                                                         \
  X(hsa_executable_get_symbol_by_name)                                                             \
  X(hsa_executable_symbol_get_info)                                                                \
  X(hsa_queue_create)                                                                              \
  X(hsa_queue_destroy)                                                                             \
  X(hsa_queue_add_write_index_screlease)                                                           \
  X(hsa_signal_create)                                                                             \
  X(hsa_signal_destroy)                                                                            \
  X(hsa_signal_store_screlease)                                                                    \
  X(hsa_signal_store_relaxed)                                                                      \
  X(hsa_signal_wait_scacquire)                                                                     \
  X(hsa_amd_register_system_event_handler)                                                         \
  X(hsa_amd_profiling_set_profiler_enabled)                                                        \
  X(hsa_amd_profiling_get_dispatch_time)

struct HsaLibrary {
#define FADE_MEMBER(name) decltype(&::name) name = nullptr;
  FADE_REPLAY_HSA(FADE_MEMBER)
#undef FADE_MEMBER
  /// Not in every runtime.
  decltype(&::hsa_amd_svm_attributes_set) hsa_amd_svm_attributes_set = nullptr;

  static Result<HsaLibrary> open();
  /// What a call has said.
  std::string text(hsa_status_t status) const;
};

} // namespace fade::replay
