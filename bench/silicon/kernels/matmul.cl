// c = a * b for square matrices, through two tiles of 16 x 16 in shared memory.
//
//   matmul(const float *a, const float *b, float *c, u32 n)
//   n is a multiple of 16; blocks: 16 x 16; grid: n / 16 x n / 16
//
// With x, y = thread, X, Y = 16 * block, each thread, in this order:
//   for t = 0, 16, 32 ... below n:
//     load global 4, #0     a + 4 ((Y + y) n + t + x)
//     store shared 4, #0    tile + 4 (16 y + x)
//     load global 4, #1     b + 4 ((t + y) n + X + x)
//     store shared 4, #1    tile + 1024 + 4 (16 y + x)
//     for k = 0 ... 15:
//       load shared 4, #0     tile + 4 (16 y + k)
//       load shared 4, #1     tile + 1024 + 4 (16 k + x)
//   store global 4        c + 4 ((Y + y) n + X + x)
// `tile` is where a kernel's shared memory starts (shared_start.cl).
#include "gpu.h"

__kernel void matmul(__global const float *restrict a, __global const float *restrict b,
                     __global float *restrict c, u32 n) {
  __local float tile[2][16][16];
  const u32 x = thread_x(), y = thread_y();
  const u64 row = block_y() * 16 + y, column = block_x() * 16 + x;
  float sum = 0;
  AS_WRITTEN
  for (u32 t = 0; t < n; t += 16) {
    tile[0][y][x] = a[row * n + t + x];
    tile[1][y][x] = b[(u64)(t + y) * n + column];
    wait_for_block();
    AS_WRITTEN
    for (u32 k = 0; k < 16; ++k) sum += tile[0][y][k] * tile[1][k][x];
    wait_for_block();
  }
  c[row * n + column] = sum;
}
