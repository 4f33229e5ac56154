// Half of a fat library: two translation units leave two bundles in it.
#include "gpu.h"
__global__ void first_of_one(int *out) { out[thread_x()] = 1; }
__global__ void second_of_one(int *out) { out[thread_x()] = 2; }
