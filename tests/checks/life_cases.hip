// Memory that the host frees twice, or gives back to a pool too early.
#include "cases.h"

// ---- freed by two owners
template <bool broken> void run_twice() {
  int *p;
  HIP(hipMalloc(&p, 4000));
  HIP(hipMemset(p, 0, 4000));
  HIP(hipFree(p));
  if (broken) (void)hipFree(p); // finds: memory says: hipFree of memory that is already freed
  HIP(hipFree(nullptr));
  float *pinned;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&pinned), 4096, 0));
  HIP(hipHostFree(pinned));
  if (broken) (void)hipHostFree(pinned); // finds: memory
  (void)hipGetLastError();
}

// ---- given back before the last launch that uses it
__global__ void fill(int *p, int value) { p[threadIdx.x] = value; }
template <bool broken> __global__ void use(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] + 1; // finds: memory says: in freed memory
}
template <bool broken> void run_pool() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  Device<int> out(64, false);
  int *p;
  if (hipMallocAsync(reinterpret_cast<void **>(&p), 256, stream) != hipSuccess) std::exit(8);
  fill<<<1, 64, 0, stream>>>(p, 3);
  use<false><<<1, 64, 0, stream>>>(p, out.data);
  if (broken) {
    HIP(hipFreeAsync(p, stream));
    use<broken><<<1, 64, 0, stream>>>(p, out.data);
  } else {
    use<broken><<<1, 64, 0, stream>>>(p, out.data);
    HIP(hipFreeAsync(p, stream));
  }
  // The same memory again, which is somebody else's now.
  int *again;
  HIP(hipMallocAsync(reinterpret_cast<void **>(&again), 256, stream));
  fill<<<1, 64, 0, stream>>>(again, 4);
  use<false><<<1, 64, 0, stream>>>(again, out.data);
  HIP(hipStreamSynchronize(stream)); // HIP 5.2 hangs if it is given back, too
}

// ---- managed memory, which HIP takes from the system
template <bool broken> __global__ void fill_managed(int *p, int n) {
  if (int(threadIdx.x) < n) p[threadIdx.x + 900] = 1; // finds: memory says: right after allocation
}
template <bool broken> __global__ void use_managed(int *p) {
  p[threadIdx.x] = 2; // finds: memory says: in freed memory
}
template <bool broken> void run_managed() {
  int *p;
  HIP(hipMallocManaged(reinterpret_cast<void **>(&p), 4000));
  p[0] = 7;
  fill_managed<broken><<<1, 128>>>(p, broken ? 101 : 100);
  use_managed<false><<<1, 64>>>(p);
  finish();
  HIP(hipFree(p));
  if (!broken) return;
  use_managed<broken><<<1, 64>>>(p);
  finish();
  (void)hipFree(p); // finds: memory says: hipFree of memory that is already freed
  (void)hipGetLastError();
}

template <bool broken> int run() {
  run_twice<broken>();
  run_managed<broken>();
  run_pool<broken>();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
