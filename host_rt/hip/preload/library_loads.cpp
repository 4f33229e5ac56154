// dlopen of the application: libraries of markers become this one, by whatever name they are asked
// for, and if FADE_TRACE_LIBRARIES says so it is recorded who asks for which library.
// dlsym: who looks for functions of HIP will call them, maybe in several threads at once.
//
// Both find out who calls them by the address they return to (for RUNPATH, namespaces, RTLD_NEXT).
// So the real one is jumped to, with nothing left to do here: this file is compiled with
// optimization.
#include "own_fade.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using Open = void *(const char *, int) noexcept;
using Lookup = void *(void *, const char *) noexcept;
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
const char *chosen(const char *file, int mode, const void *caller) noexcept {
  if (!file || is_inside) return file;
  const char *libraries = std::getenv("FADE_TRACE_LIBRARIES");
  // Who only asks whether it is there loads nothing; FADE's own libraries do so, too.
  if (libraries && *libraries != '\0' && (mode & RTLD_NOLOAD) == 0) {
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

bool isOwn(const void *caller) noexcept {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libfade.so");
}

void beforeLookup(const char *name, const void *caller) noexcept {
  if (!name || std::strncmp(name, "hip", 3) != 0 || is_inside || isOwn(caller)) return;
  if (!fade::preload::isHipLoaded()) return;
  is_inside = true;
  if (auto *watch = fade::preload::fadeFunctionOf<void()>("fade_watch_first_calls")) watch();
  is_inside = false;
}

Lookup *realLookup() noexcept {
  static std::atomic<Lookup *> real{nullptr};
  Lookup *found = real.load(std::memory_order_acquire);
  for (const char *version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (!found) found = reinterpret_cast<Lookup *>(dlvsym(RTLD_NEXT, "dlsym", version));
  real.store(found, std::memory_order_release);
  return found;
}

Open *realOpen() noexcept {
  static std::atomic<Open *> real{nullptr};
  Open *found = real.load(std::memory_order_acquire);
  if (!found) {
    found = reinterpret_cast<Open *>(realLookup()(RTLD_NEXT, "dlopen"));
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
  FADE_JUMP realOpen()(chosen(file, mode, __builtin_return_address(0)), mode);
}
FADE_EXPORT void *dlsym(void *handle, const char *name) noexcept {
  beforeLookup(name, __builtin_return_address(0));
  FADE_JUMP realLookup()(handle, name);
}
