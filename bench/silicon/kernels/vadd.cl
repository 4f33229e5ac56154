// c = a + b, one element per thread.
//
//   vadd(const float *a, const float *b, float *c, u32 n)
//   blocks: any size in x; grid: at least n threads in x
//
// With i = block_x * block size + thread_x, each thread with i < n, in this order:
//   load global 4, #0   a + 4 i
//   load global 4, #1   b + 4 i
//   store global 4      c + 4 i
#include "gpu.h"

__kernel void vadd(__global const float *restrict a, __global const float *restrict b,
                   __global float *restrict c, u32 n) {
  const u32 i = block_x() * block_size_x() + thread_x();
  if (i < n) c[i] = a[i] + b[i];
}
