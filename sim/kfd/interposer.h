// libfadegpu.so: libc functions that look at the GPU's places in /dev and /sys first. It is loaded
// into every program that is started with it, so it uses nothing but libc and does nothing until
// such a place is touched.
#pragma once

#include "kfd/core_api.h"

#include <cstdint>
#include <dlfcn.h>

#define FADE_HOOK extern "C" __attribute__((visibility("default")))

namespace fade::sim::interposer {

// The core if it is loaded.
const kfd::CoreApi *core();
// The core when it answers for `path`, null otherwise; loads it when the path is one that only a
// GPU program uses.
const kfd::CoreApi *core_for(const char *path);

// The next definition of a libc function. Looked up when the library is loaded, for a hook may run
// in a signal handler, where dlsym must not be called; or at the first call, when another library's
// constructor comes earlier.
template <class F> class Next {
public:
  constexpr explicit Next(const char *name) : name_(name) {}
  F *get() {
    if (!function_) function_ = reinterpret_cast<F *>(dlsym(RTLD_NEXT, name_));
    return function_;
  }

private:
  const char *name_;
  F *function_ = nullptr;
};
// -errno of the core as libc reports it: -1 and errno.
int fail(int negative_errno);

} // namespace fade::sim::interposer

// FADE_NEXT(open) once, then NEXT(open)(path, flags) calls the libc's own.
#define FADE_NEXT(function)                                                                        \
  static constinit fade::sim::interposer::Next<decltype(::function)> next_##function{#function};   \
  [[maybe_unused]] static const auto found_##function = next_##function.get();
#define NEXT(function) next_##function.get()
