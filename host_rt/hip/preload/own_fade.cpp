#include "own_fade.h"

#include "base/tools_environment.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace fade::preload {
namespace {

int isHip(dl_phdr_info *info, std::size_t, void *) {
  const char *slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (!slash) return 0;
  for (const char *name : {"libamdhip64.so", "libhiprtc.so"})
    if (std::strncmp(slash + 1, name, std::strlen(name)) == 0) return 1;
  return 0;
}

} // namespace

bool isHipLoaded() noexcept { return dl_iterate_phdr(isHip, nullptr) != 0; }

const char *ownPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&ownPath), &info) == 0) return nullptr;
  return info.dli_fname;
}

std::string ownFolder() {
  const char *path = ownPath();
  const char *slash = path ? std::strrchr(path, '/') : nullptr;
  return slash ? std::string(path, static_cast<std::size_t>(slash + 1 - path)) : std::string();
}

void *fadeFunction(const char *name) noexcept {
  try {
    const std::string path = ownFolder() + "libfade.so";
    void *fade = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const char *trace = std::getenv("FADE_TRACE");
    if (!fade && trace && *trace != '\0') fade = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return fade ? dlsym(fade, name) : nullptr;
  } catch (...) { // no memory for a path
    return nullptr;
  }
}

void addToTools() {
  const char *there = std::getenv(kToolsVariable);
  const bool is_there = there && std::strstr(there, "libfade.so");
  for (const auto &[name, value] : toolVariables(is_there ? there : ownFolder() + "libfade.so",
                                                 there, std::getenv("FADE_OTHER_TOOLS")))
    setenv(name.c_str(), value.c_str(), 1);
}

} // namespace fade::preload
