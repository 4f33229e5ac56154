// HIP 6 and newer give their tables of functions to rocprofiler-register before the first call,
// where they are built with it (AMD's packages are). As the first library of the process with that
// name this one sees them, too, and whoever is registered gets them as before.
#include "own_fade.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using Register = int(const char *name, uint32_t (*import)(), uint32_t version, void **tables,
                     uint64_t count, void *id);
constexpr const char *kFunction = "rocprofiler_register_library_api_table";
constexpr int kNoTools = 1; // ROCP_REG_NO_TOOLS

Register *realRegister() noexcept {
  void *found = dlsym(RTLD_NEXT, kFunction);
  if (!found) // loaded later, and not for all
    if (void *library = dlopen("librocprofiler-register.so.0", RTLD_NOW | RTLD_NOLOAD))
      found = dlsym(library, kFunction);
  return reinterpret_cast<Register *>(found);
}

bool isTraced() noexcept {
  const char *trace = std::getenv("FADE_TRACE");
  return trace && *trace != '\0';
}

} // namespace

FADE_EXPORT int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(),
                                                       uint32_t version, void **tables,
                                                       uint64_t count, void *id) noexcept {
  Register *real = realRegister();
  const int status = real ? real(name, import, version, tables, count, id) : kNoTools;
  // After the others, so that what they do is part of the call.
  if (name && std::strncmp(name, "hip", 3) == 0 && tables && count > 0 && isTraced())
    if (auto *take =
            fade::preload::fadeFunctionOf<void(const char *, void *)>("fade_take_hip_table"))
      take(name, tables[0]);
  return status;
}
