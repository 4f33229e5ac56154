// Programs that are linked with HIP: libfade.so is loaded before their first call. The HSA runtime
// loads it inside of that call, when other threads may have calls of their own under way, and after
// whatever hiprtc has compiled.
#include "own_fade.h"

#include <cstdlib>

namespace {

/// After that of librpd_tracer.so, which sets the variable.
__attribute__((constructor)) void watchFirstCalls() {
  const char *trace = std::getenv("FADE_TRACE");
  if (!trace || *trace == '\0' || !fade::preload::isHipLoaded()) return;
  if (auto *watch = fade::preload::fadeFunctionOf<void()>("fade_watch_first_calls")) watch();
}

} // namespace
