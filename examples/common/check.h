// What all examples need: HIP calls that must not fail, and memory on the GPU.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hipError_t error = (call);                                                               \
    if (error != hipSuccess) {                                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

template <typename T> T *toGpu(const std::vector<T> &values) {
  T *memory = nullptr;
  CHECK(hipMalloc(&memory, values.size() * sizeof(T)));
  CHECK(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}

template <typename T> std::vector<T> fromGpu(const T *memory, size_t count) {
  std::vector<T> values(count);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

// The program's only argument: "slow" (the default) or "fast".
inline bool wantsFast(int argc, char **argv) {
  if (argc < 2 || std::strcmp(argv[1], "slow") == 0) return false;
  if (std::strcmp(argv[1], "fast") == 0) return true;
  std::fprintf(stderr, "usage: %s [slow|fast]\n", argv[0]);
  std::exit(2);
}
