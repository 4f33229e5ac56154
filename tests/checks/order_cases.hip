// Kernels whose result depends on the order of waves or workgroups, and twins whose does not. `check` runs captures of them
// in other orders.
#include "cases.h"

// clang-format off

#define CASE(name, arguments) template <bool broken> __global__ void name arguments

// Whoever comes last wins.
CASE(last_wins, (int *out)) {
  if (threadIdx.x == 0) atomicExch(out + (broken ? 0 : blockIdx.x), (int)blockIdx.x + 1);
}

// Waves of a workgroup that pass a value on without a barrier.
CASE(no_barrier, (int *out)) {
  __shared__ volatile int row[256];
  row[threadIdx.x] = 0;
  __syncthreads();
  row[threadIdx.x] = (int)threadIdx.x + 1;
  if (!broken) __syncthreads();
  out[threadIdx.x] = row[threadIdx.x ^ 128];
}

// Workgroups that read, compute, and store what the others may have changed meanwhile.
CASE(lost_update, (int *out)) {
  if (threadIdx.x != 0) return;
  if (broken) {
    volatile int *sum = out;
    int x = *sum;
    for (int i = 0; i < 100; i++) asm volatile("s_nop 0");
    *sum = x + 1;
  } else {
    atomicAdd(out, 1);
  }
}

template <bool broken> void run() {
  Device<int> out(256);
  HIP(hipMemset(out.data, 0, 1024));
  last_wins<broken><<<8, 64>>>(out.data);
  HIP(hipMemset(out.data, 0, 1024));
  no_barrier<broken><<<1, 256>>>(out.data);
  HIP(hipMemset(out.data, 0, 1024));
  lost_update<broken><<<8, 64>>>(out.data);
  finish();
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  std::strcmp(argv[1], "broken") == 0 ? run<true>() : run<false>();
  std::printf("done\n");
  return 5;
}
