// What public programs have in common: ways to wait for each other, to share work and to bring data
// there, each with a mistake that is easily made.
#include "cases.h"

#include <hip/hip_cooperative_groups.h>

#include <atomic>
#include <thread>

namespace cg = cooperative_groups;

// The end of a sum without barriers: a wave is in step with itself, not with others.
template <bool broken> __global__ void last_warp(const int *in, int *out) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
  s[t] = in[t] + t;
  __syncthreads();
  const unsigned alone = broken ? 128 : 32;
  for (unsigned n = 128; n >= alone; n /= 2) {
    if (t < n) s[t] += s[t + n]; // finds: race
    if (n > 32 && n > alone) __syncthreads();
    if (broken && n == 128) break;
  }
  if (t < (broken ? 64 : 32)) {
    volatile int *v = s;
    for (unsigned n = broken ? 64 : 16; n > 0; n /= 2) v[t] += v[t + n]; // finds: race
  }
  if (t == 0) *out = s[0];
}

// A volatile flag behind data.
template <bool broken> __global__ void volatile_flag(int *data, int *ready, int *out) {
  volatile int *flag = ready;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (broken) *flag = 1;
    *data = 3 + out[5]; // finds: race
    __threadfence();
    if (!broken) *flag = 1;
  } else {
    while (*flag != 1) __builtin_amdgcn_s_sleep(1);
    __threadfence();
    out[0] = *data; // finds: race
  }
}

// Polled with an atomic, told by a plain store.
template <bool broken> __global__ void polls_with_atomics(int *data, int *ready, int *out) {
  volatile int *flag = ready;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (broken) *flag = 1; // may: race
    *data = 3 + out[5];    // finds: race
    __threadfence();
    if (!broken) *flag = 1;
  } else {
    while (atomicCAS(ready, 1, 2) != 1) __builtin_amdgcn_s_sleep(1); // may: race
    __threadfence();
    out[0] = *data; // finds: race
  }
}

// A mailbox: put there by an exchange, taken by compare-and-swap.
template <bool broken> __global__ void mailbox(int *letter, int *full, int *out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    letter[0] = out[5] + 7; // finds: race
    __threadfence();
    atomicExch(full, 1);
  } else {
    if (!broken)
      while (atomicCAS(full, 1, 2) != 1) __builtin_amdgcn_s_sleep(1);
    __threadfence();
    out[0] = letter[0]; // finds: race
  }
}

// A lock with numbers.
template <bool broken> __global__ void tickets(unsigned *lock, int *sum) {
  if (threadIdx.x != 0) return;
  const unsigned mine = atomicAdd(&lock[0], 1u);
  volatile unsigned *served = &lock[1];
  if (!broken)
    while (*served < mine) __builtin_amdgcn_s_sleep(1);
  __threadfence();
  *sum += blockIdx.x; // finds: race
  __threadfence();
  if (broken)
    atomicAdd(&lock[1], 1u);
  else
    *served = mine + 1;
}

// A scan with look-back, status and value in one word, or in two.
template <bool broken>
__global__ void look_back(const int *in, unsigned long long *words, int *values, int *out) {
  if (threadIdx.x != 0) return;
  const unsigned b = blockIdx.x;
  int sum = in[b];
  if (b > 0) {
    unsigned long long word;
    do word = __hip_atomic_load(&words[b - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (!(word >> 32));
    sum += broken ? values[b - 1] : int(word); // finds: race
  }
  if (broken) values[b] = sum; // finds: race
  __hip_atomic_store(&words[b], 1ull << 32 | unsigned(sum), __ATOMIC_RELAXED,
                     __HIP_MEMORY_SCOPE_AGENT);
  out[b] = sum;
}

// The last block sums up and sets the counter back, as samples do.
__device__ unsigned arrived;
template <bool broken> __global__ void retires(const float *in, float *part, float *out) {
  __shared__ float s[128];
  __shared__ bool is_last;
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (unsigned n = 64; n; n /= 2) {
    if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0]; // finds: race
    __threadfence();
    const unsigned ticket = atomicAdd(&arrived, 1u);
    is_last = broken ? ticket == gridDim.x / 2 : ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i]; // finds: race
  *out = sum;
  if (!broken) arrived = 0;
}

// Work that is taken in pieces by whoever has time.
template <bool broken> __global__ void takes_work(int *next, int *items, int n) {
  __shared__ int at;
  for (;;) {
    if (threadIdx.x == 0) at = atomicAdd(next, 64); // finds: race
    __syncthreads(); // may: sync
    const int first = at; // finds: race
    if (!broken) __syncthreads();
    if (first >= n) break;
    if (threadIdx.x < 64 && first + int(threadIdx.x) < n) items[first + threadIdx.x] = first;
  }
}

// Tiles of a block are not the block.
template <bool broken> __global__ void tiles(const int *in, int *out) {
  __shared__ int s[128];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  s[block.thread_rank()] = in[block.thread_rank()] + tile.shfl_xor(1, 3); // finds: race
  if (broken)
    tile.sync();
  else
    block.sync();
  out[block.thread_rank()] = s[(block.thread_rank() + 64) % 128]; // finds: race
}

// All blocks meet. On some GPUs newer HIPs do not prepare what HIP 5's device libraries use for it.
#if MEETS_IN_MEMORY
__device__ unsigned met;
#endif
template <class Grid> __device__ void meet(const Grid &grid) {
#if MEETS_IN_MEMORY
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&met, 1u);
    while (__hip_atomic_load(&met, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
      __builtin_amdgcn_s_sleep(1);
    __threadfence();
  }
  __syncthreads();
#else
  grid.sync();
#endif
}
template <bool broken> __global__ void whole_grid(int *p, int *out) {
  const auto grid = cg::this_grid();
  const unsigned i = grid.thread_rank(), n = gridDim.x * blockDim.x;
  p[i] = i + 1; // finds: race
  if (broken)
    __syncthreads();
  else
    meet(grid);
  out[i] = p[n - 1 - i]; // finds: race
}

// A scan of a block: sums of waves, which one wave adds up for the others.
template <bool broken> __global__ void block_scan(const int *in, int *out) {
  __shared__ int sums[16];
  const unsigned lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  int v = in[threadIdx.x];
  for (int d = 1; d < warpSize; d *= 2) {
    const int below = __shfl_up(v, d);
    if (int(lane) >= d) v += below;
  }
  if (lane == unsigned(warpSize) - 1) sums[wave] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned i = 1; i < blockDim.x / warpSize; ++i) sums[i] += sums[i - 1]; // finds: race
  if (!broken) __syncthreads();
  out[threadIdx.x] = v + (wave ? sums[wave - 1] : 0); // finds: race
}

// Two buffers in LDS: the next piece is brought while this one is used.
template <bool broken> __global__ void two_buffers(const int *in, int *out, int pieces) {
  __shared__ int s[2][128];
  int sum = 0;
  s[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < pieces; ++k) {
    const int next = broken ? k % 2 : (k + 1) % 2;
    if (k + 1 < pieces) s[next][threadIdx.x] = in[(k + 1) * 128 + threadIdx.x]; // finds: race
    sum += s[k % 2][127 - threadIdx.x];                                         // finds: race
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Places for what passes a test, by votes of waves.
template <bool broken> __global__ void compacts(const int *in, int *out, int *total) {
  __shared__ int count;
  if (!broken && threadIdx.x == 0) count = 0;
  __syncthreads();
  const bool keep = in[threadIdx.x] % 3 == 0;
  const unsigned long long votes = __ballot(keep);
  const unsigned lane = threadIdx.x % warpSize;
  int base = 0;
  if (lane == 0) base = atomicAdd(&count, __popcll(votes)); // finds: init
  base = __shfl(base, 0);
  if (keep && !broken) out[base + __popcll(votes & ((1ull << lane) - 1))] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0 && !broken) *total = count;
}

// A tile with its border; corners are forgotten.
template <bool broken> __global__ void border(const float *in, float *out) {
  __shared__ float s[10][10];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  const auto at = [&](int i, int j) { return in[(j + 8) % 8 * 8 + (i + 8) % 8]; };
  s[y][x] = at(x - 1, y - 1);
  if (x == 1) s[y][0] = at(-1, y - 1), s[y][9] = at(8, y - 1);
  if (y == 1) s[0][x] = at(x - 1, -1), s[9][x] = at(x - 1, 8);
  if (!broken && x == 1 && y == 1)
    s[0][0] = at(-1, -1), s[0][9] = at(8, -1), s[9][0] = at(-1, 8), s[9][9] = at(8, 8);
  __syncthreads();
  float sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) sum += s[y + j][x + i]; // finds: init
  out[threadIdx.y * 8 + threadIdx.x] = sum;
}

// Bins of a block, brought together.
template <bool broken> __global__ void own_bins(const int *in, int *bins) {
  __shared__ int mine[64];
  if (threadIdx.x < 64) mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[(in[threadIdx.x] + threadIdx.x) % 64], 1); // finds: race, optimized
  if (!broken) __syncthreads();
  if (threadIdx.x >= 192)
    atomicAdd(&bins[threadIdx.x - 192], mine[threadIdx.x - 192]); // finds: race, optimized
}

// One byte for each wave.
template <bool broken> __global__ void wave_bytes(const int *in, int *out) {
  __shared__ char any[16];
  const unsigned wave = threadIdx.x / 64, waves = blockDim.x / 64;
  if (threadIdx.x < 16) any[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 64 == 0) any[wave] = char(in[wave] + wave); // finds: race
  if (!broken) __syncthreads();
  if (threadIdx.x % 64 == 1) out[wave] = any[(wave + waves - 1) % waves]; // finds: race
}

// Bytes of an image, by rows that do not begin at words.
template <bool broken> __global__ void bytes_of_rows(unsigned char *image, int width, int *out) {
  unsigned char *row = image + blockIdx.x * width;
  if (int(threadIdx.x) < width) row[threadIdx.x] = 9 + blockIdx.x; // finds: race
  const unsigned from = broken ? (blockIdx.x + 1) % gridDim.x : blockIdx.x;
  if (threadIdx.x == 0) out[blockIdx.x] = image[from * width]; // finds: race
}

// One too many.
template <bool broken> __global__ void strides(int *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; broken ? i <= n : i < n;
       i += gridDim.x * blockDim.x)
    p[i] = i; // finds: memory
}

// A loop with a barrier that waves leave at different times.
template <bool broken> __global__ void rounds(int *out, const int *limits) {
  __shared__ int s[128];
  s[threadIdx.x] = 0;
  const int limit = broken ? limits[threadIdx.x / 64] : 3;
  for (int i = 0; i < limit; ++i) {
    s[threadIdx.x] += i;
    __syncthreads(); // finds: sync
  }
  out[threadIdx.x] = s[threadIdx.x];
}

// Counts of blocks.
template <bool broken> __global__ void counts(const int *in, int *out) {
#if defined(__OPTIMIZE__) // else compilers do not know how wide waves are
  const int n = __syncthreads_count(in[threadIdx.x] > 3);
  const int all = __syncthreads_and(in[threadIdx.x] > 3), any = __syncthreads_or(in[threadIdx.x]);
#else
  const int n = in[threadIdx.x], all = 0, any = 0;
#endif
  out[threadIdx.x + (broken ? 1024 : 0)] = n + all + any; // finds: memory
}

// A list in device memory; a pointer in it was freed.
struct Node {
  int value;
  Node *next;
};
template <bool broken> __global__ void walks(const Node *node, int *out) {
  int sum = 0;
  for (; node; node = node->next) sum += node->value; // finds: memory
  *out = sum;
}

// Brought by copies of several kinds.
template <bool broken> __global__ void copied_part(const int *p, int *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (p[i] == 0) out[0] = 3; // finds: init
}
template <bool broken> __global__ void copied_2d(const int *p, int pitch, int *out) {
  out[threadIdx.x] = p[threadIdx.y * pitch + threadIdx.x] * 5; // finds: init
}
template <bool broken> __global__ void copied_3d(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 7; // finds: init
}
template <bool broken> __global__ void set_2d(const unsigned char *p, int pitch, int *out) {
  out[threadIdx.x] = p[threadIdx.x * pitch] * 9; // finds: init
}
template <bool broken> __global__ void set_async(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 11; // finds: init
}

// The host goes on writing while this waits.
template <bool broken> __global__ void talks_to_host(volatile int *host, int *out, int n) {
  if (threadIdx.x != 0) return;
  while (host[0] == 0) __builtin_amdgcn_s_sleep(1);
  __threadfence_system();
  out[0] = host[broken ? n : 1]; // finds: memory
  host[2] = 5;
}
template <bool broken> __global__ void managed(int *p, int n) {
  if (int(threadIdx.x) < n) p[threadIdx.x] += 1; // its gap is not seen
}

// Calls itself, and others by pointers.
__device__ __attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
template <bool broken> __global__ void recursion(int *out) {
  out[threadIdx.x + (broken ? 1024 : 0)] = fibonacci(threadIdx.x % 7); // finds: memory
}
struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float a;
  __device__ explicit Square(float x) : a(x) {}
  __device__ float area() const override { return a * a; }
};
struct Circle : Shape {
  float r;
  __device__ explicit Circle(float x) : r(x) {}
  __device__ float area() const override { return 3 * r * r; }
};
template <bool broken> __global__ void virtual_calls(float *out, int n) {
  Square square(threadIdx.x);
  Circle circle(threadIdx.x);
  const Shape *shape = threadIdx.x % 2 ? static_cast<Shape *>(&square) : &circle;
  if (broken || int(threadIdx.x) < n) out[threadIdx.x] = shape->area(); // finds: memory
}

template <bool broken> void brings_data(int *out) {
  std::vector<int> host(4096, 3);
  {
    Device<int> p(4096, false);
    HIP(hipMemcpyAsync(p.data, host.data(), broken ? 4096 : 16384, hipMemcpyHostToDevice, 0));
    copied_part<broken><<<4, 1024>>>(p.data, out);
    finish();
  }
  {
    Device<int> p(64 * 8, false);
    HIP(hipMemcpy2D(p.data, 256, host.data(), 128, broken ? 32 : 128, 8, hipMemcpyHostToDevice));
    copied_2d<broken><<<1, dim3(32, 8)>>>(p.data, 64, out);
    finish();
  }
  {
    Device<int> p(64, false);
    hipMemcpy3DParms how{};
    how.srcPtr = make_hipPitchedPtr(host.data(), 16, 4, 4);
    how.dstPtr = make_hipPitchedPtr(p.data, 16, 4, 4);
    how.extent = make_hipExtent(16, 4, broken ? 1 : 4);
    how.kind = hipMemcpyHostToDevice;
    HIP(hipMemcpy3D(&how));
    copied_3d<broken><<<1, 64>>>(p.data, out);
    finish();
  }
  {
    Device<unsigned char> p(256 * 64, false);
    HIP(hipMemset2D(p.data, 256, 1, 16, broken ? 32 : 64));
    set_2d<broken><<<1, 64>>>(p.data, 256, out);
    finish();
  }
  {
    Device<int> p(64, false);
    HIP(hipMemsetAsync(p.data, 0, broken ? 64 : 256, 0));
    set_async<broken><<<1, 64>>>(p.data, out);
    finish();
  }
}

template <bool broken> void shares_with_host(int *out) {
  int *host;
  HIP(hipHostMalloc(&host, 4096, hipHostMallocMapped));
  std::memset(host, 0, 4096);
  talks_to_host<broken><<<1, 64>>>(host, out, 1024);
  std::thread([&] {
    host[1] = 4;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    *static_cast<volatile int *>(host) = 1;
  }).join();
  finish();
  HIP(hipHostFree(host));
  int *both;
  HIP(hipMallocManaged(&both, 256));
  for (int i = 0; i < 64; ++i) both[i] = i;
  managed<broken><<<1, 64>>>(both, 64);
  finish();
  HIP(hipFree(both));
}

template <bool broken> void waits(int *p, int *out, int *in, float *floats) {
  Device<int> words(64), values(64);
  Device<unsigned long long> wide(64);
  const auto clear = [&] {
    finish();
    HIP(hipMemset(words.data, 0, 256));
    HIP(hipMemset(wide.data, 0, 512));
  };
  clear();
  volatile_flag<broken><<<2, 64>>>(p, words.data, out), clear();
  polls_with_atomics<broken><<<2, 64>>>(p, words.data, out), clear();
  mailbox<broken><<<2, 64>>>(p, words.data, out), clear();
  tickets<broken><<<6, 64>>>(reinterpret_cast<unsigned *>(words.data), out), clear();
  look_back<broken><<<8, 64>>>(in, wide.data, values.data, out), clear();
  for (int i = 0; i < (broken ? 1 : 2); ++i)
    retires<broken><<<4, 128>>>(floats, floats + 512, floats + 600), clear();
  takes_work<broken><<<3, 128>>>(words.data, out, 600), clear();
  void *arguments[] = {&p, &out};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(whole_grid<broken>), dim3(2), dim3(128),
                                 arguments, 0, 0));
  finish();
}

template <bool broken> int run() {
  Device<int> p(1024), out(1024), in(1024);
  Device<float> floats(1024), short_floats(48);
  Device<unsigned char> bytes(1024);
  std::vector<int> host(1024);
  for (int i = 0; i < 1024; ++i) host[i] = (i * 37) % 101;
  HIP(hipMemcpy(in.data, host.data(), 4096, hipMemcpyHostToDevice));
  waits<broken>(p.data, out.data, in.data, floats.data);
  last_warp<broken><<<1, 256>>>(in.data, out.data);
  tiles<broken><<<1, 128>>>(in.data, out.data);
  block_scan<broken><<<1, 256>>>(in.data, out.data);
  two_buffers<broken><<<1, 128>>>(in.data, out.data, 5);
  compacts<broken><<<1, 256>>>(in.data, out.data, p.data);
  border<broken><<<1, dim3(8, 8)>>>(floats.data, floats.data + 64);
  own_bins<broken><<<1, 256>>>(in.data, out.data);
  wave_bytes<broken><<<1, 512>>>(in.data, out.data);
  bytes_of_rows<broken><<<6, 64>>>(bytes.data, 37, out.data);
  strides<broken><<<2, 64>>>(p.data, 1024);
  finish();
  const int limits[] = {1, 3};
  HIP(hipMemcpy(p.data, limits, sizeof limits, hipMemcpyHostToDevice));
  rounds<broken><<<1, 128>>>(out.data, p.data);
  counts<broken><<<1, 128>>>(in.data, out.data);
  {
    Device<Node> nodes(2), *other = new Device<Node>(1);
    const Node last{3, nullptr}, first{1, other->data};
    HIP(hipMemcpy(other->data, &last, sizeof last, hipMemcpyHostToDevice));
    HIP(hipMemcpy(nodes.data, &first, sizeof first, hipMemcpyHostToDevice));
    if (broken) delete other;
    walks<broken><<<1, 1>>>(nodes.data, out.data);
    finish();
    if (!broken) delete other;
  }
  brings_data<broken>(out.data);
  shares_with_host<broken>(out.data);
  recursion<broken><<<1, 64>>>(out.data);
  virtual_calls<broken><<<1, 64>>>(short_floats.data, 48);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
