// Loads in assembly, for which the program waits later: the next tile comes while this one is
// worked on. The compiler does not know that they are under way. Where registers are scarce, it
// moves what it takes for the tile to other places before it has arrived. -DFIXED waits in time.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

using Vector = __attribute__((ext_vector_type(4))) float;
constexpr int kTile = 12, kSteps = 4;

__device__ inline void load(Vector &to, const Vector *from) {
#ifdef FIXED
  to = *from; // the compiler's own load: it waits before it uses the registers
#else
  asm volatile("global_load_dwordx4 %0, %1, off" : "=v"(to) : "v"(from));
#endif
}

__global__ __attribute__((amdgpu_waves_per_eu(8, 8))) void weighted_sum(const Vector *in,
                                                                        const Vector *weights,
                                                                        Vector *out) {
  Vector tile[kTile], sum = {};
  const Vector *next = in + threadIdx.x;
  for (int i = 0; i < kTile; ++i, next += 64) load(tile[i], next);
  for (int step = 0; step < kSteps; ++step) {
    asm volatile("s_waitcnt vmcnt(0)"); // the tile is there
    Vector now[kTile];
    for (int i = 0; i < kTile; ++i) now[i] = tile[i];
    for (int i = 0; i < kTile; ++i, next += 64) load(tile[i], next);
    for (int i = 0; i < kTile; ++i) sum += now[i] * weights[step * kTile + i];
  }
  asm volatile("s_waitcnt vmcnt(0)");
  for (int i = 0; i < kTile; ++i) sum += tile[i];
  out[threadIdx.x] = sum;
}

int main() {
  constexpr int count = (kSteps + 1) * kTile * 64;
  const std::vector<Vector> ones(count, Vector{1, 1, 1, 1});
  Vector *in, *weights, *out;
  (void)hipMalloc(&in, count * sizeof(Vector));
  (void)hipMalloc(&weights, kSteps * kTile * sizeof(Vector));
  (void)hipMalloc(&out, 64 * sizeof(Vector));
  (void)hipMemcpy(in, ones.data(), count * sizeof(Vector), hipMemcpyHostToDevice);
  (void)hipMemcpy(weights, ones.data(), kSteps * kTile * sizeof(Vector), hipMemcpyHostToDevice);
  weighted_sum<<<1, 64>>>(in, weights, out);
  Vector result;
  (void)hipMemcpy(&result, out, sizeof result, hipMemcpyDeviceToHost);
  std::printf("%g, expected %d\n", result[0], (kSteps + 1) * kTile);
  (void)hipFree(in);
  (void)hipFree(weights);
  (void)hipFree(out);
}
