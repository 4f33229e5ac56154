// y = A x for a sparse matrix in CSR form, one row per thread: rows of different length make lanes
// leave the loop one after the other.
//
//   spmv(const u32 *row_starts, const u32 *columns, const float *values, const float *x, float *y,
//        u32 rows)
//   row_starts has rows + 1 elements; blocks: any size in x; grid: at least `rows` threads in x
//
// With r = block_x * block size + thread_x, each thread with r < rows, in this order:
//   load global 4, #0     row_starts + 4 r
//   load global 4, #1     row_starts + 4 (r + 1)
//   for k = row_starts[r] ... row_starts[r + 1] - 1:
//     load global 4, #2     columns + 4 k
//     load global 4, #3     values + 4 k
//     load global 4, #4     x + 4 columns[k]
//   store global 4        y + 4 r
#include "gpu.h"

__kernel void spmv(__global const u32 *restrict row_starts, __global const u32 *restrict columns,
                   __global const float *restrict values, __global const float *restrict x,
                   __global float *restrict y, u32 rows) {
  const u32 row = block_x() * block_size_x() + thread_x();
  if (row >= rows) return;
  const u32 begin = row_starts[row], end = row_starts[row + 1];
  float sum = 0;
  AS_WRITTEN
  for (u32 k = begin; k < end; ++k) {
    const u32 column = columns[k];
    const float value = values[k];
    sum += value * x[column];
  }
  y[row] = sum;
}
