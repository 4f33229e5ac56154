// Language features, each in a kernel. Compiled only; what they compute does not matter.
#include <hip/hip_runtime.h>

template <typename T, int N> __global__ void templated(T *p) { p[threadIdx.x] += T(N); }
template __global__ void templated<float, 3>(float *);
template __global__ void templated<long, 5>(long *);

namespace {
__global__ void hidden(int *p) { p[threadIdx.x] = 1; }
} // namespace
void *keep() { return reinterpret_cast<void *>(&hidden); }

struct Big {
  int a[10];
  double b;
};
extern "C" __global__ void structure(char c, Big big, float4 v, short s, int *out) {
  out[threadIdx.x] = big.a[threadIdx.x % 10] + c + int(v.y) + s;
}

extern "C" __global__ void no_arguments() {}

#define FIVE(n) int a##n##0, int a##n##1, int a##n##2, int a##n##3, int a##n##4
#define SUM(n) (a##n##0 + a##n##1 + a##n##2 + a##n##3 + a##n##4)
extern "C" __global__ void forty_arguments(int *out, FIVE(1), FIVE(2), FIVE(3), FIVE(4), FIVE(5), FIVE(6), FIVE(7),
                                           int x, int y, int z, char last) {
  out[threadIdx.x] = SUM(1) + SUM(2) + SUM(3) + SUM(4) + SUM(5) + SUM(6) + SUM(7) + x + y + z + last;
}

extern "C" __global__ void dynamic_lds(int *out) {
  extern __shared__ int local[];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x ^ 1];
}

extern "C" __global__ void hidden_arguments(int *out) {
  out[0] = gridDim.x * blockDim.y + blockIdx.z;
}

extern "C" __global__ void assembly(int *out) {
  int v;
  asm volatile("v_mov_b32 %0, 7" : "=v"(v));
  out[threadIdx.x] = v;
}

__device__ int state;
__device__ __noinline__ int step(int *p, int n) { return n == 0 ? p[0] : step(p + 1, n - 1) + state; }
extern "C" __global__ __launch_bounds__(128) void calls(int *p, int n) { p[threadIdx.x] = step(p, n); }

#ifndef NO_PRINTF
extern "C" __global__ void prints(int *p) {
  if (p[threadIdx.x] < 0)
    printf("%d\n", p[threadIdx.x]);
}
#endif
