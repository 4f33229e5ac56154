// out = in transposed, through a tile of 32 x 32 in shared memory. In `transpose` a column of the
// tile lies in one bank, in `transpose_padded` in all of them.
//
//   transpose(const float *in, float *out, u32 width, u32 height)
//   transpose_padded(the same)
//   in has height rows of width elements, out has width rows of height elements
//   blocks: 32 x 8; grid: (width + 31) / 32 x (height + 31) / 32
//
// With x, y = thread, X, Y = 32 * block, and P = 32 or 33 elements in a row of the tile, in this
// order:
//   for j = 0, 8, 16, 24, each thread with X + x < width and Y + y + j < height:
//     load global 4     in + 4 ((Y + y + j) width + X + x)
//     store shared 4    tile + 4 ((y + j) P + x)
//   for j = 0, 8, 16, 24, each thread with Y + x < height and X + y + j < width:
//     load shared 4     tile + 4 (x P + y + j)
//     store global 4    out + 4 ((X + y + j) height + Y + x)
// `tile` is where a kernel's shared memory starts (shared_start.cl).
#include "gpu.h"

static inline __attribute__((always_inline)) void
transpose_through(__local float *tile, u32 pitch, __global const float *restrict in,
                  __global float *restrict out, u32 width, u32 height) {
  const u32 x = thread_x(), y = thread_y(), left = block_x() * 32, top = block_y() * 32;
  AS_WRITTEN
  for (u32 j = 0; j < 32; j += 8)
    if (left + x < width && top + y + j < height)
      tile[(y + j) * pitch + x] = in[(u64)(top + y + j) * width + left + x];
  wait_for_block();
  AS_WRITTEN
  for (u32 j = 0; j < 32; j += 8)
    if (top + x < height && left + y + j < width)
      out[(u64)(left + y + j) * height + top + x] = tile[x * pitch + y + j];
}

__kernel void transpose(__global const float *restrict in, __global float *restrict out, u32 width,
                        u32 height) {
  __local float tile[32 * 32];
  transpose_through(tile, 32, in, out, width, height);
}

__kernel void transpose_padded(__global const float *restrict in, __global float *restrict out,
                               u32 width, u32 height) {
  __local float tile[32 * 33];
  transpose_through(tile, 33, in, out, width, height);
}
