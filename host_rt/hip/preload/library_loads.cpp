// dlopen of the application: libraries of markers become this one, by whatever name they are asked
// for, and if FADE_TRACE_LIBRARIES says so it is recorded who asks for which library.
//
// dlopen finds out who calls it by the address it returns to (for RUNPATH and namespaces). So the
// real one is jumped to, with nothing left to do here: this file is compiled with optimization.
#include "own_fade.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using Open = void *(const char *, int) noexcept;
using Recorder = void(const char *file, const void *caller);

bool isMarkers(const char *file) {
  const char *slash = std::strrchr(file, '/');
  const char *name = slash ? slash + 1 : file;
  for (const char *markers : {"libroctx64.so", "librocprofiler-sdk-roctx.so"})
    if (std::strncmp(name, markers, std::strlen(markers)) == 0) return true;
  return false;
}

/// While libfade.so is being loaded this is called again.
thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

/// What is to be opened instead.
const char *chosen(const char *file, const void *caller) noexcept {
  if (!file || is_inside) return file;
  const char *libraries = std::getenv("FADE_TRACE_LIBRARIES");
  if (libraries && *libraries != '\0') {
    is_inside = true;
    static std::atomic<Recorder *> record{nullptr};
    Recorder *to = record.load(std::memory_order_acquire);
    if (!to) {
      to = fade::preload::fadeFunctionOf<Recorder>("fade_record_request");
      if (to) record.store(to, std::memory_order_release);
    }
    if (to) to(file, caller);
    is_inside = false;
  }
  if (!isMarkers(file)) return file;
  const char *own = fade::preload::ownPath();
  return own ? own : file;
}

Open *realOpen() noexcept {
  static std::atomic<Open *> real{nullptr};
  Open *found = real.load(std::memory_order_acquire);
  if (!found) {
    found = reinterpret_cast<Open *>(dlsym(RTLD_NEXT, "dlopen"));
    real.store(found, std::memory_order_release);
  }
  return found;
}

} // namespace

#if defined(__clang__)
#define FADE_JUMP [[clang::musttail]] return
#else
#define FADE_JUMP return // by a jump, as -O2 does it
#endif

FADE_EXPORT void *dlopen(const char *file, int mode) noexcept {
  FADE_JUMP realOpen()(chosen(file, __builtin_return_address(0)), mode);
}
