// What the two front libraries have in common: make_front.py writes their exports, slots and
// entries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

extern "C" {
extern void *front_real[];          ///< by number: the function of the real library
extern void *const front_entries[]; ///< by number: what jumps there
}

namespace front {

inline void setReady(char &flag) { std::atomic_ref(flag).store(1, std::memory_order_release); }

inline void *openReal(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  if (!library) {
    std::fprintf(stderr, "tests/rocm_next: %s\n", dlerror());
    std::abort();
  }
  return library;
}

} // namespace front
