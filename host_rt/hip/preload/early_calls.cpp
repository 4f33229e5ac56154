// Programs that are linked with HIP: libfade.so is loaded before their first call. The HSA runtime
// loads it inside of that call, when other threads may have calls of their own under way, and after
// whatever hiprtc has compiled.
#include "own_fade.h"

#include <cstdlib>
#include <cstring>
#include <link.h>

namespace {

int isHip(dl_phdr_info *info, std::size_t, void *) {
  const char *slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (!slash) return 0;
  for (const char *name : {"libamdhip64.so", "libhiprtc.so"})
    if (std::strncmp(slash + 1, name, std::strlen(name)) == 0) return 1;
  return 0;
}

/// After that of librpd_tracer.so, which sets the variable.
__attribute__((constructor)) void watchFirstCalls() {
  const char *trace = std::getenv("FADE_TRACE");
  if (!trace || *trace == '\0' || dl_iterate_phdr(isHip, nullptr) == 0) return;
  if (auto *watch = fade::preload::fadeFunctionOf<void()>("fade_watch_first_calls")) watch();
}

} // namespace
