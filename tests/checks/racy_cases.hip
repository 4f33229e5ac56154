// Kernels with more than one race each: which one is shown, how often and with which advice must not
// depend on the number of workers (workers.py).
#include "cases.h"

namespace {

// Four places that meet at one, in all orders.
__global__ void many_pairs(int *p, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i % 96] = i;
  const int near = p[(i + 1) % 96];
  p[(i + 32) % 96] = near + i;
  out[i] = p[(i + 64) % 96];
}

// Updates are lost between waves, between workgroups, and within a wave.
__global__ void histogram(int *bins, const unsigned char *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    bins[in[i] % 17]++;
}

// Bins in LDS, and the sum of all workgroups without atomics.
__global__ void histogram_lds(int *bins, const unsigned char *in, int n) {
  __shared__ int mine[16];
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine[in[i] % 16]++;
  if (threadIdx.x < 16) bins[threadIdx.x] += mine[threadIdx.x];
}

// Two barriers are missing, and workgroups overlap.
__global__ void stencil(float *data, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * (blockDim.x - 2) + threadIdx.x;
  for (int step = 0; step < 3; step++) {
    tile[threadIdx.x] = i < n ? data[i] : 0;
    const float left = tile[(threadIdx.x + 255) % 256], right = tile[(threadIdx.x + 1) % 256];
    if (i < n) data[i] = left + right + step;
  }
}

// "The last workgroup sums up", without a fence, and another one reads too early.
__global__ void last_block(int *part, unsigned *count, int *out) {
  __shared__ bool is_last;
  part[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1u) % gridDim.x == gridDim.x - 1;
  __syncthreads();
  if (blockIdx.x == 2) out[threadIdx.x] += part[threadIdx.x];
  if (!is_last) return;
  for (unsigned b = 0; b < gridDim.x; b++) out[threadIdx.x] += part[b * blockDim.x + threadIdx.x];
}

// A lock that every third workgroup does not take; flags that nobody waits for in the right way.
__global__ void locks(unsigned *lock, int *value, int *flags) {
  if (threadIdx.x % 64) return;
  if (blockIdx.x % 3) {
    while (atomicCAS(lock, 0u, 1u) != 0u) __builtin_amdgcn_s_sleep(1);
    value[0] += blockIdx.x, value[1]++;
    __hip_atomic_store(lock, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    value[1] += 3, value[0]++;
  }
  flags[blockIdx.x % 2] = value[0];
  if (flags[1 - blockIdx.x % 2] > 5) value[2] = blockIdx.x;
}

// Work is drawn from a counter: who does what depends on the order.
__global__ void queue(unsigned *next, int *data, int n) {
  __shared__ unsigned mine;
  for (;;) {
    if (threadIdx.x == 0) mine = atomicAdd(next, 1u);
    __syncthreads();
    const unsigned at = mine;
    __syncthreads();
    if (at >= 64) return;
    data[(at * 7 + threadIdx.x) % n] += at;
  }
}

// Who comes first decides what the others do: another finding each time, but for the order.
__global__ void first_come(unsigned *turn, int *data, int *never) {
  const unsigned me = atomicAdd(turn, 1u);
  if (me % 5 == 0) data[me % 32] = me;
  if (me % 7 == 1) data[(me + 3) % 32] += 2;
  if (me % 11 == 2) data[threadIdx.x % 32] ^= never[me % 8];
}

} // namespace

int main() {
  constexpr int n = 4096;
  Device<int> data(n), out(n);
  Device<int> never(8, false);
  Device<unsigned char> bytes(n);
  std::vector<unsigned char> input(n);
  for (int i = 0; i < n; i++) input[i] = static_cast<unsigned char>(i * i / 7);
  HIP(hipMemcpy(bytes.data, input.data(), n, hipMemcpyHostToDevice));
  const auto counter = reinterpret_cast<unsigned *>(out.data + n - 1);
  const auto clear = [&] { HIP(hipMemset(counter, 0, sizeof(int))); };
  many_pairs<<<12, 128>>>(data.data, out.data);
  histogram<<<9, 128>>>(data.data, bytes.data, n);
  histogram_lds<<<9, 256>>>(data.data, bytes.data, n);
  stencil<<<10, 256>>>(reinterpret_cast<float *>(data.data), 2500);
  clear();
  last_block<<<7, 128>>>(data.data, counter, out.data);
  clear();
  locks<<<20, 128>>>(counter, data.data, out.data);
  clear();
  queue<<<16, 128>>>(counter, data.data, 300);
  clear();
  first_come<<<8, 96>>>(counter, data.data, never.data);
  finish();
  fetch(data), fetch(out);
}
