// HIP and the libraries above it, opened by name when the program runs, with the few declarations
// that are needed of them: these parts have not changed since ROCm 5.
#pragma once

#include "open_library.h"
#include "outcome.h"

#include <cstdint>
#include <dlfcn.h>
#include <vector>

namespace fade::probe {

template <class F> F findIn(void *library, const char *name) {
  auto function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) throw Skipped(std::string("this version has no ") + name);
  return function;
}

inline void check(int status, const char *what) {
  if (status != 0) throw Failed(std::string(what) + " failed with code " + std::to_string(status));
}

/// The few functions of HIP.
struct Hip {
  void *library = openLibrary({"libamdhip64.so.10", "libamdhip64.so.7", "libamdhip64.so.6",
                               "libamdhip64.so.5", "libamdhip64.so"});
  int (*init)(unsigned) = find<int (*)(unsigned)>("hipInit");
  int (*malloc)(void **, size_t) = find<int (*)(void **, size_t)>("hipMalloc");
  int (*memcpy)(void *, const void *, size_t,
                int) = find<int (*)(void *, const void *, size_t, int)>("hipMemcpy");
  int (*synchronize)() = find<int (*)()>("hipDeviceSynchronize");

  Hip() { check(init(0), "hipInit"); }
  template <class F> F find(const char *name) const { return findIn<F>(library, name); }

  template <class T> T *upload(const std::vector<T> &values) const {
    void *memory = nullptr;
    check(malloc(&memory, values.size() * sizeof(T)), "hipMalloc");
    check(memcpy(memory, values.data(), values.size() * sizeof(T), kToDevice), "hipMemcpy");
    return static_cast<T *>(memory);
  }
  template <class T> std::vector<T> download(const T *from, std::size_t count) const {
    std::vector<T> values(count);
    check(memcpy(values.data(), from, count * sizeof(T), kToHost), "hipMemcpy");
    return values;
  }

private:
  static constexpr int kToDevice = 1, kToHost = 2;
};

} // namespace fade::probe
