// Within a workgroup: races in LDS, barriers, and what nobody wrote.
#include "cases.h"

template <bool broken> __global__ void missing_barrier(int *out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = threadIdx.x; // finds: race
  if (!broken) __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x]; // finds: race
}

// The second iteration overwrites what slower waves still read.
template <bool broken> __global__ void missing_second_barrier(int *out, const int *in) {
  __shared__ int tile[256];
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    tile[threadIdx.x] = in[k * 256 + threadIdx.x]; // finds: race
    __syncthreads();
    sum += tile[(threadIdx.x + 64) % 256]; // finds: race
    if (!broken) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <bool broken> __global__ void one_counter(int *out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (broken)
    total += threadIdx.x; // finds: race
  else
    atomicAdd(&total, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = total;
}

// Cleared too late: the atomics of other waves may come first.
template <bool broken> __global__ void histogram(unsigned *out, const int *in) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0; // finds: race, optimized
  if (!broken) __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] & 255], 1u); // finds: race, optimized
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}

// Bytes side by side are not the same memory.
template <bool broken> __global__ void bytes(char *out) {
  __shared__ char tile[256];
  const int at = (threadIdx.x % 64) * 4 + threadIdx.x / 64;
  tile[broken ? at & ~1 : at] = 1 + threadIdx.x / 64; // finds: race
  __syncthreads();
  out[threadIdx.x] = tile[broken ? threadIdx.x & ~1 : threadIdx.x];
}

// A counter that returns orders those who come after: the last wave sums up what the others left.
template <bool broken> __global__ void last_wave(int *out) {
  __shared__ int part[16];
  __shared__ unsigned arrived;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  const unsigned wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
  if (threadIdx.x % warpSize == 0) {
    if (broken) {
      part[wave] = wave; // finds: race
      if (wave == waves - 1)
        for (unsigned i = 0; i < waves; ++i) out[i] = part[i]; // finds: race, may: init
    } else {
      part[wave] = wave;
      __threadfence_block();
      if (atomicAdd(&arrived, 1u) == waves - 1)
        for (unsigned i = 0; i < waves; ++i) out[i] = part[i];
    }
  }
}

template <bool broken> __global__ void divergent_barrier(int *out) {
  __shared__ int word;
  if (threadIdx.x == 0) word = 1;
  if (broken) {
    if (threadIdx.x % 64 < 20) __syncthreads(); // finds: sync
  } else {
    __syncthreads();
  }
  if (threadIdx.x < 20) out[threadIdx.x] = word;
}

template <bool broken> __global__ void early_end(int *out, int n) {
  if (broken && int(threadIdx.x) >= n) return;
  __syncthreads(); // finds: sync
  out[threadIdx.x] = 1;
}

template <bool broken> __global__ void unwritten_memory(int *out, const int *in, int n) {
  const int i = threadIdx.x;
  out[i] = in[broken ? i : i % n]; // finds: init
}

template <bool broken> __global__ void unwritten_lds(int *out) {
  __shared__ int tile[128];
  tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + (broken ? 64 : 0)]; // finds: init
}

__global__ void fill_half(int *p) { p[threadIdx.x] = 7; }
template <bool broken> __global__ void written_by_a_kernel(int *out, const int *in) {
  out[threadIdx.x] = in[threadIdx.x + (broken ? 64 : 0)]; // finds: init
}

template <bool broken> int run() {
  Device<int> out(1024), in(1024);
  Device<unsigned> bins(256);
  Device<char> chars(256);
  missing_barrier<broken><<<2, 256>>>(out.data);
  missing_second_barrier<broken><<<1, 256>>>(out.data, in.data);
  one_counter<broken><<<1, 256>>>(out.data);
  histogram<broken><<<1, 256>>>(bins.data, in.data);
  bytes<broken><<<1, 256>>>(chars.data);
  last_wave<broken><<<1, 256>>>(out.data);
  finish();
  divergent_barrier<broken><<<1, 128>>>(out.data);
  early_end<broken><<<1, 256>>>(out.data, 128);
  finish();
  {
    Device<int> fresh(4096, false);
    std::vector<int> host(64, 3);
    HIP(hipMemcpy(fresh.data + 2048, host.data(), 256, hipMemcpyHostToDevice));
    unwritten_memory<broken><<<1, 128>>>(out.data, fresh.data + (broken ? 0 : 2048), 64);
    fetch(out);
  }
  unwritten_lds<broken><<<1, 64>>>(out.data);
  fetch(out);
  {
    Device<int> fresh(128, false);
    fill_half<<<1, 64>>>(fresh.data);
    written_by_a_kernel<broken><<<1, 64>>>(out.data, fresh.data);
    fetch(out);
  }
  std::printf("done\n");
  return 5;
}

static int leak() {
  for (int i = 0; i < 3; ++i) {
    void *p;
    HIP(hipMalloc(&p, 1024));
  }
  Device<int> freed(64);
  fill_half<<<1, 64>>>(freed.data);
  finish();
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "leak") return leak();
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
