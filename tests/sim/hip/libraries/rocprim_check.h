// Calls a device-wide algorithm of rocPRIM in its two steps: how much temporary memory, then the
// work.
#pragma once

#include "../check.h"

#include <iostream> // the headers of rocPRIM need it and do not say so

template <class Algorithm> void run_rocprim(Algorithm &&algorithm) {
  size_t size = 0;
  HIP(algorithm(nullptr, size));
  check::Device<char> temporary(size ? size : 1);
  HIP(algorithm(static_cast<void *>(temporary.get()), size));
  HIP(hipDeviceSynchronize());
}
