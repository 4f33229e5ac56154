// A barrier made of two instructions. They order what the GPU does, but tell the compiler nothing
// about memory: it moves a load of LDS behind the barrier, to where the value is needed. -DFIXED
// says that memory changes there.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kRounds = 4, kItems = 256;

__device__ inline void blockSync() {
#ifdef FIXED
  asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier" ::: "memory");
#else
  asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier");
#endif
}

__global__ void rotate(const float *in, float *out, unsigned wanted) {
  __shared__ float tile[kItems];
  const int i = threadIdx.x;
  for (int round = 0; round < kRounds; ++round) {
    tile[i] = in[round * kItems + i];
    blockSync();
    const float neighbor = tile[(i + 64) % kItems];
    blockSync(); // from here on the tile may be overwritten
    if (wanted >> round & 1) out[round * kItems + i] = neighbor;
  }
}

int main() {
  const std::vector<float> ones(kRounds * kItems, 1.0f);
  float *in, *out;
  (void)hipMalloc(&in, ones.size() * 4);
  (void)hipMalloc(&out, ones.size() * 4);
  (void)hipMemcpy(in, ones.data(), ones.size() * 4, hipMemcpyHostToDevice);
  rotate<<<1, kItems>>>(in, out, 15);
  float result = 0;
  (void)hipMemcpy(&result, out, 4, hipMemcpyDeviceToHost);
  std::printf("%g, expected 1\n", result);
  (void)hipFree(in);
  (void)hipFree(out);
}
