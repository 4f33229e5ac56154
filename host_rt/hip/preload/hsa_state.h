// Whether this process uses the GPU already. Needs no header of HSA.
#pragma once

#include <cstdint>
#include <dlfcn.h>

namespace fade {

/// The HSA runtime is loaded and was started: it loads no tools any more.
inline bool isHsaOpen() noexcept {
  void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return false;
  const auto ask = reinterpret_cast<int (*)(int, void *)>(dlsym(library, "hsa_system_get_info"));
  uint16_t major = 0; // HSA_SYSTEM_INFO_VERSION_MAJOR
  const bool is_open = ask && ask(0, &major) == 0;
  dlclose(library);
  return is_open;
}

} // namespace fade
