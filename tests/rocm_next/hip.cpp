// HIP as AMD's packages have it, from the point of view of a tool: Debian's HIP does the work;
// every function is called through this library's tables, which are given to rocprofiler-register
// when the first function of a table is called. (Debian builds HIP without that.)
#include "front.h"

#include <rocprofiler-register/rocprofiler-register.h>

#include <cstring>
#include <mutex>

extern "C" {
#define FRONT_TABLE(table, slots)                                                                  \
  extern char front_##table[];                                                                     \
  extern char front_is_ready_##table;
#include "exports.inc"
extern char front_is_ready_direct;
}

namespace {

constexpr std::size_t kSizeBytes = sizeof(std::size_t);
constexpr uint32_t kVersion = ROCPROFILER_REGISTER_COMPUTE_VERSION_3(7, 2, 4);

void *real() {
  static void *const library = front::openReal("libamdhip64-re.7");
  return library;
}
void *own() {
  static void *const library = front::openReal("libamdhip64.so.7");
  return library;
}

struct Entry {
  unsigned number;
  char *table;
  std::size_t slot;
  const char *name;
};
const Entry kEntries[] = {
#define FRONT_ENTRY(number, table, slot, name) {number, front_##table, slot, #name},
#include "exports.inc"
};

void fill(char *table, std::size_t slots) {
  const std::size_t size = kSizeBytes + slots * sizeof(void *);
  std::memcpy(table, &size, sizeof size);
  for (const Entry &entry : kEntries) {
    if (entry.table != table) continue;
    front_real[entry.number] = dlsym(real(), entry.name);
    if (front_real[entry.number])
      reinterpret_cast<void **>(table + kSizeBytes)[entry.slot] = front_entries[entry.number];
  }
}

/// HIP gives addresses of functions that go through its table, so here it must be this one's.
void giveOwn(void **function) {
  if (!function || !*function) return;
  for (const Entry &entry : kEntries)
    if (front_real[entry.number] == *function)
      if (void *found = dlsym(own(), entry.name)) {
        *function = found;
        return;
      }
}

using GetProcAddress = int(const char *, void **, int, uint64_t, void *);
GetProcAddress *real_get_address = nullptr;
int getProcAddress(const char *name, void **function, int version, uint64_t flags, void *status) {
  const int result = real_get_address(name, function, version, flags, status);
  giveOwn(function);
  return result;
}

void *&realOf(const char *name) {
  for (const Entry &entry : kEntries)
    if (std::strcmp(entry.name, name) == 0) return front_real[entry.number];
  std::abort();
}

} // namespace

extern "C" {
__attribute__((visibility("default"))) uint32_t rocprofiler_register_import_hip() {
  return kVersion;
}
__attribute__((visibility("default"))) uint32_t rocprofiler_register_import_hip_compiler() {
  return kVersion;
}
}

namespace {

void give(const char *name, rocprofiler_register_import_func_t import, void *table) {
  void *all[] = {table};
  rocprofiler_register_library_indentifier_t id{};
  (void)rocprofiler_register_library_api_table(name, import, kVersion, all, 1, &id);
}

void openRuntime(std::size_t slots) {
  static std::once_flag once;
  std::call_once(once, [&] {
    fill(front_hip, slots);
    void *&address = realOf("hipGetProcAddress");
    real_get_address = reinterpret_cast<GetProcAddress *>(address);
    address = reinterpret_cast<void *>(getProcAddress);
    give("hip", rocprofiler_register_import_hip, front_hip);
  });
  front::setReady(front_is_ready_hip);
}

void openCompiler(std::size_t slots) {
  static std::once_flag once;
  std::call_once(once, [&] {
    fill(front_hip_compiler, slots);
    give("hip_compiler", rocprofiler_register_import_hip_compiler, front_hip_compiler);
  });
  front::setReady(front_is_ready_hip_compiler);
}

enum : std::size_t {
#define FRONT_TABLE(table, slots) slots_of_##table = slots,
#include "exports.inc"
};

} // namespace

extern "C" {
void front_open_hip() { openRuntime(slots_of_hip); }
void front_open_hip_compiler() { openCompiler(slots_of_hip_compiler); }
void front_open_direct() {
  static std::once_flag once;
  std::call_once(once, [] {
#define FRONT_DIRECT(number, name) front_real[number] = dlsym(real(), #name);
#include "exports.inc"
  });
  front::setReady(front_is_ready_direct);
}
}
