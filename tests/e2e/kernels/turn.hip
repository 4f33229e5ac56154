// Turns a matrix of n x n numbers, in tiles of 32 x 32 that go through LDS. It needs no headers, so
// that it is compiled quickly.
#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif

__device__ inline void meet() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__global__ void turn(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  const int x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
  const int from_x = __builtin_amdgcn_workgroup_id_x() * 32;
  const int from_y = __builtin_amdgcn_workgroup_id_y() * 32;
  tile[y][x] = in[(from_y + y) * n + from_x + x];
  meet();
  out[(from_x + y) * n + from_y + x] = tile[x][y];
}
