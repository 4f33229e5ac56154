// The HSA runtime as FADE calls it: the functions that were in its tables before FADE put its own
// there. Entries that the runtime is too old to have are null.
//
// One libfade.so serves every runtime, so the layout of its tables is not taken from the headers
// FADE was built with. The core table has had the same 125 entries since ROCm 5.0. The table of
// AMD's extensions got two entries in its middle with ROCm 5.6, without a new version number, and
// has only grown at its end since then. In what order is certain up to ROCm 7.2; of later entries
// the runtime itself is asked where they are (late_entries.h).
#pragma once

// Debian's copy of the header wants to be told that it stands beside the others.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ven_amd_loader.h>

#include "hsa/newer_api.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace fade {

inline constexpr int kNoEntry = -1;

// Every extension that FADE calls or replaces, and its place in AmdExtTable up to ROCm 5.5 and
// since 5.6.
#define FADE_AMD_ENTRIES(X)                                                                        \
  X(hsa_amd_profiling_set_profiler_enabled, 2, 2)                                                  \
  X(hsa_amd_profiling_async_copy_enable, 3, 3)                                                     \
  X(hsa_amd_profiling_get_dispatch_time, 4, 4)                                                     \
  X(hsa_amd_profiling_get_async_copy_time, 5, 5)                                                   \
  X(hsa_amd_signal_async_handler, 7, 7)                                                            \
  X(hsa_amd_queue_cu_set_mask, 10, 10)                                                             \
  X(hsa_amd_memory_pool_get_info, 11, 11)                                                          \
  X(hsa_amd_agent_iterate_memory_pools, 12, 12)                                                    \
  X(hsa_amd_memory_pool_allocate, 13, 13)                                                          \
  X(hsa_amd_memory_pool_free, 14, 14)                                                              \
  X(hsa_amd_memory_async_copy, 15, 15)                                                             \
  X(hsa_amd_memory_async_copy_on_engine, kNoEntry, 16)                                             \
  X(hsa_amd_agent_memory_pool_get_info, 16, 18)                                                    \
  X(hsa_amd_agents_allow_access, 17, 19)                                                           \
  X(hsa_amd_memory_lock, 20, 22)                                                                   \
  X(hsa_amd_memory_unlock, 21, 23)                                                                 \
  X(hsa_amd_pointer_info, 26, 28)                                                                  \
  X(hsa_amd_ipc_memory_create, 28, 30)                                                             \
  X(hsa_amd_ipc_memory_attach, 29, 31)                                                             \
  X(hsa_amd_ipc_memory_detach, 30, 32)                                                             \
  X(hsa_amd_signal_create, 31, 33)                                                                 \
  X(hsa_amd_register_system_event_handler, 34, 36)                                                 \
  X(hsa_amd_queue_intercept_create, 35, 37)                                                        \
  X(hsa_amd_queue_intercept_register, 36, 38)                                                      \
  X(hsa_amd_queue_set_priority, 37, 39)                                                            \
  X(hsa_amd_memory_async_copy_rect, 38, 40)                                                        \
  X(hsa_amd_memory_lock_to_pool, 40, 42)                                                           \
  X(hsa_amd_svm_attributes_set, 44, 46)                                                            \
  X(hsa_amd_svm_prefetch_async, 46, 48)                                                            \
  X(hsa_amd_vmem_handle_create, kNoEntry, 57)                                                      \
  X(hsa_amd_vmem_map, kNoEntry, 59)                                                                \
  X(hsa_amd_vmem_unmap, kNoEntry, 60)

// The same of entries that came after ROCm 7.2.
#define FADE_LATE_ENTRIES(X)                                                                       \
  X(hsa_amd_queue_create)                                                                          \
  X(hsa_amd_counted_queue_acquire)                                                                 \
  X(hsa_amd_counted_queue_release)                                                                 \
  X(hsa_amd_memory_async_batch_copy)                                                               \
  X(hsa_amd_sdma_queue_create)

/// AMD's extensions, by name.
struct AmdApi {
#define FADE_MEMBER(name, early, late) std::add_pointer_t<decltype(name)> name##_fn = nullptr;
  FADE_AMD_ENTRIES(FADE_MEMBER)
#undef FADE_MEMBER
#define FADE_MEMBER(name) std::add_pointer_t<decltype(name)> name##_fn = nullptr;
  FADE_LATE_ENTRIES(FADE_MEMBER)
#undef FADE_MEMBER
};

struct HsaApi {
  CoreApiTable core{};
  AmdApi amd{};
};

/// Valid once OnLoad has run.
HsaApi &hsaApi();

/// Functions of that name that the HSA runtime may be exporting. None: it has no such function.
using Exports = std::function<std::vector<void *>(const char *name)>;

/// The tables of a running HSA runtime, in whichever layout it has them.
class HsaTables {
public:
  /// Copies what is in the tables to hsaApi(). False if FADE cannot work with them; `problem()`
  /// then says why. While it runs no other thread of the application uses the runtime: to be called
  /// in OnLoad only. `exports`: of the runtime that has these tables, unless said.
  bool read(HsaApiTable &table, Exports exports = nullptr);
  const std::string &problem() const { return problem_; }
  /// Sentences about what FADE will not see: entries that it does not know, functions that are not
  /// in the table. Usually none.
  const std::vector<std::string> &gaps() const { return gaps_; }
  /// Newer than ROCm 6.4: packets may be given to FADE many at a time.
  bool givesBatches() const;

  /// To be written to: the runtime calls what is there.
  CoreApiTable &core() { return *core_; }
  /// Puts a function of FADE's in the place of an extension, if the runtime has that.
  template <typename Function> void replace(Function AmdApi::*entry, Function function) {
    const AmdApi &api = hsaApi().amd;
    if (!(api.*entry)) return;
    const auto index = static_cast<std::size_t>(reinterpret_cast<const char *>(&(api.*entry)) -
                                                reinterpret_cast<const char *>(&api)) /
                       sizeof(Function);
    std::memcpy(slot(index), &function, sizeof function);
  }

private:
  /// Where the runtime keeps a member of AmdApi; null if it has none.
  void *slot(std::size_t entry) const;
  void findLate(const Exports &exports);

  CoreApiTable *core_ = nullptr;
  ApiTableVersion *amd_ = nullptr; ///< AmdExtTable begins with it; then one pointer per entry
  bool is_early_ = false;          ///< the layout up to ROCm 5.5
  std::vector<int> late_places_;   ///< of FADE_LATE_ENTRIES
  std::string problem_;
  std::vector<std::string> gaps_;
};

inline bool ok(hsa_status_t status) {
  return status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK;
}

} // namespace fade
