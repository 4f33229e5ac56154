// Kernels with one error each, and their clean twins. `broken` chooses.
//
// The line on which a finding is expected ends with "// finds: memory" or another check; a race has
// two sides, of which either may be the one that is shown first. Nothing else may be found.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define HIP(call)                                                                                  \
  do {                                                                                             \
    const hipError_t error = call;                                                                 \
    if (error != hipSuccess) {                                                                     \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(error));           \
      std::exit(3);                                                                                \
    }                                                                                              \
  } while (0)

// Debian's ROCr for arm64 has no images, and HIP then no memory with a pitch.
#if defined(__aarch64__)
#define MALLOC_PITCH(p, pitch, width, height) hipMalloc(p, (*(pitch) = 256) * (height))
#else
#define MALLOC_PITCH hipMallocPitch
#endif

// On GPUs that HIP 5 does not know, newer HIPs do not prepare what its device libraries use for
// barriers of grids.
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX11__) || defined(__GFX12__)
#define MEETS_IN_MEMORY 1
#else
#define MEETS_IN_MEMORY 0
#endif
// Device malloc of HIP 5's device libraries asks a clock that these GPUs do not have, and never
// ends.
#if defined(__OPTIMIZE__) && !defined(__GFX11__) && !defined(__GFX12__)
#define HAS_MALLOC 1
#else
#define HAS_MALLOC 0
#endif

// Memory of the device, freed at the end, and written unless told otherwise.
template <class T> struct Device {
  T *data = nullptr;
  size_t count;
  explicit Device(size_t n, bool written = true) : count(n) {
    HIP(hipMalloc(&data, n * sizeof(T)));
    if (written) HIP(hipMemset(data, 1, n * sizeof(T)));
  }
  Device(const Device &) = delete;
  ~Device() {
    if (data) HIP(hipFree(data));
  }
};

/// What the host looks at.
template <class T> void fetch(const Device<T> &from) {
  std::vector<T> host(from.count);
  HIP(hipMemcpy(host.data(), from.data, from.count * sizeof(T), hipMemcpyDeviceToHost));
}

inline void finish() {
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
}
