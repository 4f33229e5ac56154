// What goes wrong in programs of the kind that samples and textbooks have.
#include "cases.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Bins that nobody has set to 0.
template <bool broken> __global__ void bins_in_lds(const int *in, int *out) {
  __shared__ int bins[64];
  if (!broken) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 64], 1); // finds: init
  __syncthreads();
  if (!broken) out[threadIdx.x] = bins[threadIdx.x];
}
template <bool broken> __global__ void bins_in_memory(const int *in, unsigned *bins) {
  atomicAdd(&bins[in[threadIdx.x] % 64], 1u); // finds: init
}
template <bool broken> __global__ void lowest(const int *in, int *least) {
  atomicMin(least, in[threadIdx.x]); // finds: init
}
// A lock that nobody has made free.
template <bool broken> __global__ void lock(int *locked, int *sum) {
  if (threadIdx.x != 0) return;
  int before = 1;
  while (before) before = atomicCAS(locked, 0, 1); // finds: init
  __threadfence();
  *sum += 1;
  __threadfence();
  atomicExch(locked, 0);
}
// An exchange needs no old value.
__global__ void exchanged(int *slots) { atomicExch(&slots[threadIdx.x], 3); }

// The same memory, first as one thing, then as another.
template <bool broken> __global__ void reused(const float *in, int *out) {
  __shared__ union {
    float wide[256];
    int counts[256];
  } room;
  room.wide[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const float mine = room.wide[255 - threadIdx.x]; // finds: race
  if (!broken) __syncthreads();
  room.counts[threadIdx.x] = int(mine); // finds: race
  __syncthreads();
  out[threadIdx.x] = room.counts[(threadIdx.x + 64) % 256];
}

// Dynamic LDS for two arrays, launched with the size of one.
template <bool broken> __global__ void two_arrays(int *out) {
  extern __shared__ int room[];
  int *first = room, *second = room + blockDim.x;
  first[threadIdx.x] = threadIdx.x;
  second[threadIdx.x] = 2 * threadIdx.x; // finds: memory
  __syncthreads();
  if (!broken) out[threadIdx.x] = first[threadIdx.x] + second[blockDim.x - 1 - threadIdx.x];
}

// A sum per wave, for waves of 32; on GPUs with 64 half as many exist, and on the others too few.
template <bool broken> __global__ void sums_per_wave(const int *in, int *out) {
  extern __shared__ int sums[];
  int sum = in[threadIdx.x];
  for (int d = 16; d; d /= 2) sum += __shfl_xor(sum, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum; // finds: memory
  __syncthreads();
  if (!broken && threadIdx.x == 0) *out = sums[0] + sums[7];
}

// A queue without a look at its end.
template <bool broken> __global__ void pushes(const int *in, int *queue, int *tail, int room) {
  if (in[threadIdx.x] % 2 == 0) return;
  const int at = atomicAdd(tail, 1);
  if (broken || at < room) queue[at] = threadIdx.x; // finds: memory
}

// Sorts in LDS.
template <bool broken> __global__ void bitonic(const int *in, int *out) {
  __shared__ int keys[256];
  keys[threadIdx.x] = in[threadIdx.x];
  for (unsigned size = 2; size <= 256; size *= 2)
    for (unsigned step = size / 2; step; step /= 2) {
      if (!broken || step < 64) __syncthreads();
      const unsigned other = threadIdx.x ^ step;
      if (other > threadIdx.x) {
        const int a = keys[threadIdx.x], b = keys[other]; // finds: race
        const bool up = (threadIdx.x & size) == 0;
        if ((a > b) == up) keys[threadIdx.x] = b, keys[other] = a; // finds: race
      }
    }
  __syncthreads();
  out[threadIdx.x] = keys[threadIdx.x];
}

// In place: neighbors may already be new.
template <bool broken> __global__ void smooth(float *field, float *to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  const float sum = field[i] + field[(i + 1) % n]; // finds: race
  (broken ? field : to)[i] = sum / 2;              // finds: race
}

// A ring that one wave fills and another empties.
template <bool broken> __global__ void ring(const int *in, int *out) {
  __shared__ int slots[2][64];
  const unsigned lane = threadIdx.x % 64;
  int sum = 0;
  for (int turn = 0; turn < 6; ++turn) {
    if (threadIdx.x < 64) slots[turn % 2][lane] = in[lane] + turn; // finds: race
    if (!broken || turn % 2) __syncthreads();
    if (threadIdx.x >= 64) sum += slots[turn % 2][63 - lane]; // finds: race
  }
  out[threadIdx.x] = sum;
}

// Cooperative groups.
template <bool broken> __global__ void grouped(const int *in, int *out) {
  __shared__ int sums[8];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  int sum = in[block.thread_rank()];
  for (int d = tile.size() / 2; d; d /= 2) sum += tile.shfl_down(sum, d);
  if (tile.thread_rank() == 0) sums[block.thread_rank() / 32] = sum; // finds: race
  if (!broken) block.sync();
  if (block.thread_rank() == 0) {
    for (int i = 1; i < 8; ++i) sum += sums[i]; // finds: race
    *out = sum;
  }
}

// A hash over all bytes of a structure.
struct Item {
  char kind;
  int count;
};
__global__ void make_items(Item *items) {
  items[threadIdx.x].kind = 3;
  items[threadIdx.x].count = threadIdx.x;
}
template <bool broken> __global__ void hash(const Item *items, unsigned *out) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(items + threadIdx.x);
  unsigned h = 7;
  for (unsigned i = 0; i < sizeof(Item); ++i)
    if (broken || i == 0 || i > 3) h = h * 31 + bytes[i]; // finds: init
  out[threadIdx.x] = h;
}

// Width and height in the wrong order.
template <bool broken> __global__ void turned(const int *in, int *out, int width, int height) {
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (broken ? x < height && y < width : x < width && y < height)
    out[x * height + y] = in[y * width + x]; // finds: memory, may: race
}

// What one kernel leaves for the host, and the host for the next.
template <bool broken> __global__ void mapped(int *host, int n) {
  host[broken ? threadIdx.x + n : threadIdx.x] = 1; // finds: memory
}
template <bool broken> __global__ void last_of_all(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] + 1; // finds: init
}
template <bool broken> __global__ void image(const unsigned char *p, int pitch, int *out) {
  out[threadIdx.x] = p[threadIdx.x * pitch + 40] * 3; // finds: init
}

// By hand.
template <bool broken> __global__ void by_hand(int *out, int n) {
  int *at = out + (broken ? threadIdx.x + n : threadIdx.x);
  const int value = threadIdx.x;
  asm volatile("global_store_dword %0, %1, off" : : "v"(at), "v"(value)); // finds: memory
}

template <bool broken> int run() {
  Device<int> out(1024), in(1024);
  Device<float> floats(256), others(256);
  std::vector<int> host(1024);
  for (int i = 0; i < 1024; ++i) host[i] = (i * 37) % 101;
  HIP(hipMemcpy(in.data, host.data(), 4096, hipMemcpyHostToDevice));
  bins_in_lds<broken><<<1, 64>>>(in.data, out.data);
  {
    Device<unsigned> bins(64, !broken);
    bins_in_memory<broken><<<1, 64>>>(in.data, bins.data);
    Device<int> least(1, !broken), locked(1, false), sum(1), slots(64, false);
    lowest<broken><<<1, 64>>>(in.data, least.data);
    if (!broken) HIP(hipMemset(locked.data, 0, 4));
    lock<broken><<<broken ? 1 : 4, 64>>>(locked.data, sum.data);
    exchanged<<<1, 64>>>(slots.data);
    finish();
  }
  reused<broken><<<1, 256>>>(floats.data, out.data);
  two_arrays<broken><<<1, 64, broken ? 256 : 512>>>(out.data);
  sums_per_wave<broken><<<1, 256, broken ? 16 : 32>>>(in.data, out.data);
  {
    Device<int> queue(16), tail(1, false);
    HIP(hipMemset(tail.data, 0, 4));
    pushes<broken><<<1, 64>>>(in.data, queue.data, tail.data, 16);
    finish();
  }
  bitonic<broken><<<1, 256>>>(in.data, out.data);
  smooth<broken><<<4, 64>>>(floats.data, others.data);
  ring<broken><<<1, 128>>>(in.data, out.data);
  grouped<broken><<<1, 256>>>(in.data, out.data);
  {
    Device<Item> items(64, false);
    Device<unsigned> hashes(64);
    make_items<<<1, 64>>>(items.data);
    hash<broken><<<1, 64>>>(items.data, hashes.data);
    finish();
  }
  {
    Device<int> a(20 * 9), b(20 * 9);
    turned<broken><<<dim3(3, 3), dim3(8, 8)>>>(a.data, b.data, 20, 9);
    finish();
  }
  {
    int *shared;
    HIP(hipHostMalloc(reinterpret_cast<void **>(&shared), 1024 * 4, 0));
    mapped<broken><<<1, 64>>>(shared, 1024);
    finish();
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    Device<int> p(64, false);
    HIP(hipMemcpyAsync(p.data, shared, broken ? 252 : 256, hipMemcpyHostToDevice, stream));
    last_of_all<broken><<<1, 64, 0, stream>>>(p.data, out.data);
    HIP(hipStreamSynchronize(stream));
    HIP(hipStreamDestroy(stream));
    HIP(hipHostFree(shared));
    Device<unsigned char> pixels(64 * 256, false);
    HIP(hipMemset2D(pixels.data, 256, 1, broken ? 40 : 41, 64));
    image<broken><<<1, 64>>>(pixels.data, 256, out.data);
    finish();
  }
  by_hand<broken><<<1, 64>>>(out.data, 1024);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
