// Programs that are linked with hiprtc compile their kernels before they use the GPU, and so before
// the HSA runtime loads libfade.so: it is loaded here then.
#include "own_fade.h"

#include <cstdlib>
#include <cstring>
#include <link.h>

namespace {

int isRtc(dl_phdr_info *info, std::size_t, void *) {
  const char *slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (!slash) return 0;
  for (const char *name : {"libhiprtc.so", "libamdhip64.so.5"}) // HIP 5 has it in its own library
    if (std::strncmp(slash + 1, name, std::strlen(name)) == 0) return 1;
  return 0;
}

/// After that of librpd_tracer.so, which sets the variable.
__attribute__((constructor)) void watchRtc() {
  const char *trace = std::getenv("FADE_TRACE");
  if (!trace || *trace == '\0' || dl_iterate_phdr(isRtc, nullptr) == 0) return;
  if (auto *watch = fade::preload::fadeFunctionOf<void()>("fade_watch_rtc")) watch();
}

} // namespace
