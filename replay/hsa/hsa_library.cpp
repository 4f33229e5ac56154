#include "replay/hsa/hsa_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace fade::replay {

Result<HsaLibrary> HsaLibrary::open() {
  constexpr const char *file = "libhsa-runtime64.so.1";
  void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (!library) library = dlopen("/opt/rocm/lib/libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) return Error{file, "", 0, "it cannot be loaded: is ROCm installed?"};
  HsaLibrary hsa;
#define FADE_LOAD(name)                                                                            \
  hsa.name = reinterpret_cast<decltype(hsa.name)>(dlsym(library, #name));                          \
  if (!hsa.name) return Error{file, "", 0, "there is no " #name " in it"};
  FADE_REPLAY_HSA(FADE_LOAD)
#undef FADE_LOAD
  hsa.hsa_amd_svm_attributes_set = reinterpret_cast<decltype(hsa.hsa_amd_svm_attributes_set)>(
      dlsym(library, "hsa_amd_svm_attributes_set"));
  return hsa;
}

std::string HsaLibrary::text(hsa_status_t status) const {
  const char *known = nullptr;
  if (hsa_status_string && hsa_status_string(status, &known) == HSA_STATUS_SUCCESS && known)
    return known;
  return fmt::format("status {:#x}", static_cast<unsigned>(status));
}

} // namespace fade::replay
