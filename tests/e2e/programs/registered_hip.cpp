// A libamdhip64 as AMD builds it, with two functions: they are called through a table, which is
// given to rocprofiler-register before the first call.
#include "fade/hip_api.h"

#include <mutex>
#include <string_view>

#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

extern "C" int rocprofiler_register_library_api_table(const char *, uint32_t (*)(), uint32_t,
                                                      void **, uint64_t, void *);

namespace {

constexpr std::size_t kSlots = 506;
struct {
  std::size_t size = sizeof(std::size_t) + kSlots * sizeof(void *);
  void *functions[kSlots] = {};
} table;

constexpr std::size_t slotOf(std::string_view name) {
  for (const auto &function : fade::hip::kFunctions)
    if (name == function.name) return function.number;
  return kSlots;
}

int getDeviceCount(int *count) {
  *count = 3;
  return 0;
}
int getDevice(int *device) {
  *device = 2;
  return 0;
}
uint32_t import() { return 70200; }

void *function(std::size_t slot) {
  static std::once_flag once;
  std::call_once(once, [] {
    table.functions[slotOf("hipGetDeviceCount")] = reinterpret_cast<void *>(getDeviceCount);
    table.functions[slotOf("hipGetDevice")] = reinterpret_cast<void *>(getDevice);
    void *tables[] = {&table};
    uint64_t id = 0;
    (void)rocprofiler_register_library_api_table("hip", import, import(), tables, 1, &id);
  });
  return table.functions[slot];
}

} // namespace

EXPORT int hipGetDeviceCount(int *count) {
  return reinterpret_cast<int (*)(int *)>(function(slotOf("hipGetDeviceCount")))(count);
}
EXPORT int hipGetDevice(int *device) {
  return reinterpret_cast<int (*)(int *)>(function(slotOf("hipGetDevice")))(device);
}
EXPORT int hipGetDevicePropertiesR0600(void *, int) { return 1; } // HIP 6 and newer have it
