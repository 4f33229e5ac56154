// For the programs of the end-to-end tests: a HIP call that fails ends the program.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hipError_t check_error = (call);                                                         \
    if (check_error != hipSuccess) {                                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(check_error));                     \
      std::exit(99);                                                                               \
    }                                                                                              \
  } while (false)
