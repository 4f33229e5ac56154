#include "cases.h"

template <bool broken> __global__ void store_after(int *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (broken ? i <= n : i < n) p[i] = i; // finds: memory
}

template <bool broken> __global__ void load_before(const int *p, int *out, int n) {
  const int i = threadIdx.x;
  if (broken || i > 0) out[i] = p[i - 1]; // finds: memory
}

template <bool broken> __global__ void odd_size(char *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (broken ? n + 1 : n)) p[i] = 3; // finds: memory
}

template <bool broken> __global__ void wide_load(const float4 *p, float *out, int n) {
  const int i = threadIdx.x;
  if (i >= (broken ? n + 1 : n)) return;
  const float4 v = p[i]; // finds: memory
  out[i] = v.x + v.y + v.z + v.w;
}

template <bool broken> __global__ void atomic_after(unsigned *p, int n) {
  atomicAdd(&p[(broken ? n : n - 1) - threadIdx.x % 2], 1u); // finds: memory
}

template <bool broken> __global__ void use_freed(int *p) {
  p[threadIdx.x] = 1; // finds: memory
}

template <bool broken> __global__ void far_away(int *p, long far) {
  p[broken ? far + threadIdx.x : threadIdx.x] = 5; // finds: memory
}

template <bool broken> __global__ void lds_after(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int at = broken ? 64 + threadIdx.x : 63 - threadIdx.x;
  asm volatile("" ::: "memory");
  out[threadIdx.x] = tile[at]; // finds: memory
}

template <bool broken> __global__ void dynamic_lds(int *out) {
  extern __shared__ int room[];
  room[threadIdx.x + (broken ? 1 : 0)] = threadIdx.x; // finds: memory
  __syncthreads();
  out[threadIdx.x] = room[threadIdx.x / 2 + 1];
}

__device__ __noinline__ void helper(int *p, int i) {
  p[i] = i; // finds: memory
}
template <bool broken> __global__ void in_a_function(int *p, int n) {
  if (threadIdx.x == 0) helper(p, broken ? n : n - 1);
}

template <bool broken> __global__ void one_lane_of_many(int *p, const int *index) {
  p[index[threadIdx.x]] = 1; // finds: memory
}

__device__ int table[16];
template <bool broken> __global__ void of_a_struct(double *p, int n) {
  struct Pair {
    double a, b;
  };
  Pair *pairs = reinterpret_cast<Pair *>(p);
  // The last element is half outside.
  pairs[n / 2 - (broken ? 0 : 1)].b = table[0]; // finds: memory
}

template <bool broken> int run() {
  constexpr int n = 1000; // not a multiple of anything
  {
    Device<int> p(n);
    store_after<broken><<<(n + 256) / 256, 256>>>(p.data, n);
    finish();
  }
  {
    Device<int> p(64), out(64);
    load_before<broken><<<1, 64>>>(p.data, out.data, 64);
    finish();
  }
  {
    Device<char> p(4093);
    odd_size<broken><<<17, 256>>>(p.data, 4093);
    finish();
  }
  {
    Device<float4> p(63);
    Device<float> out(64);
    wide_load<broken><<<1, 64>>>(p.data, out.data, 63);
    finish();
  }
  {
    Device<unsigned> p(1024); // whole pages: only a gap can tell
    atomic_after<broken><<<2, 64>>>(p.data, 1024);
    finish();
  }
  {
    int *p, *q;
    HIP(hipMalloc(&p, 4096));
    if (broken) HIP(hipFree(p));
    HIP(hipMalloc(&q, 4096)); // must not take its place
    use_freed<broken><<<1, 64>>>(p);
    finish();
    HIP(hipFree(q));
    if (!broken) HIP(hipFree(p));
  }
  {
    Device<int> p(64);
    Device<int> other(1 << 20);
    far_away<broken><<<1, 64>>>(p.data, 1200);
    finish();
  }
  {
    Device<int> out(64);
    lds_after<broken><<<1, 64>>>(out.data);
    dynamic_lds<broken><<<1, 64, 64 * sizeof(int)>>>(out.data);
    in_a_function<broken><<<1, 64>>>(out.data, 64);
    finish();
  }
  {
    Device<int> p(64), index(64);
    std::vector<int> at(64);
    for (int i = 0; i < 64; ++i) at[i] = i == 37 && broken ? 64 : i;
    HIP(hipMemcpy(index.data, at.data(), 256, hipMemcpyHostToDevice));
    one_lane_of_many<broken><<<1, 64>>>(p.data, index.data);
    finish();
  }
  {
    Device<double> p(9);
    of_a_struct<broken><<<1, 1>>>(p.data, 9);
    finish();
  }
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
