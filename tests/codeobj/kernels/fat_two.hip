#include "gpu.h"
__global__ void only_of_two(float *out) { out[thread_x()] = 3; }
