// Counts how often each value of the low 8 bits occurs: in shared memory first, then for all
// blocks.
//
//   histogram(const u32 *data, u32 *bins, u32 n)
//   bins has 256 elements, which are added to; blocks: 256; grid: any size in x
//
// With t = thread_x, each thread, in this order:
//   store shared 4      counts + 4 t
//   for i = block_x * 256 + t, in steps of grid size * 256, while i < n:
//     load global 4       data + 4 i
//     atomic shared 4     counts + 4 (data[i] % 256)
//   load shared 4       counts + 4 t
//   atomic global 4     bins + 4 t
// `counts` is where a kernel's shared memory starts (shared_start.cl).
#include "gpu.h"

__kernel void histogram(__global const u32 *restrict data, __global u32 *restrict bins, u32 n) {
  __local u32 counts[256];
  const u32 t = thread_x();
  counts[t] = 0;
  wait_for_block();
  AS_WRITTEN
  for (u64 i = block_x() * 256 + t; i < n; i += grid_size_x() * 256)
    add_shared(&counts[data[i] % 256], 1);
  wait_for_block();
  add_global(&bins[t], counts[t]);
}
