// Between dispatches on different streams: what orders them, and what does not.
#include "cases.h"

// The first of two kernels waits until the host has launched the second, so that the host cannot
// see by chance that it has ended. In the clean twin, it may go at once.
__device__ void hold(const int *go) {
  while (__hip_atomic_load(go, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0)
    __builtin_amdgcn_s_sleep(1);
}

template <bool broken> __global__ void fill_for_event(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void read_after_event(int *out, const int *p) {
  out[threadIdx.x] = p[63 - threadIdx.x]; // finds: race
}

template <bool broken> __global__ void fill_for_host(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void overwrite_after_host(int *p, int value) {
  p[threadIdx.x] = value - threadIdx.x; // finds: race
}

// The copy waits for the one, and the other for the copy.
template <bool broken> __global__ void fill_for_copy(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void overwrite_after_copy(int *p, int value) {
  p[threadIdx.x] = value - threadIdx.x; // finds: race
}

// Both count with atomics, which is fine; a plain sum is not.
template <bool broken> __global__ void count_here(unsigned *total, const int *go) {
  hold(go);
  if (broken)
    *total += blockIdx.x; // finds: race, optimized
  else
    atomicAdd(total, blockIdx.x);
}
template <bool broken> __global__ void count_there(unsigned *total) {
  atomicAdd(total, threadIdx.x); // finds: race, optimized
}

// The event is from before what it should wait for.
template <bool broken> __global__ void fill_after_record(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void read_after_record(int *out, const int *p) {
  out[threadIdx.x] = p[63 - threadIdx.x]; // finds: race
}

// Streams that do not block are not in order with the null stream.
template <bool broken> __global__ void fill_beside_null(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void read_on_null(int *out, const int *p) {
  out[threadIdx.x] = p[63 - threadIdx.x]; // finds: race
}

// The value that one stream waits for is written by the other, behind or before the kernel.
template <bool broken> __global__ void fill_for_value(int *p, int value, const int *go) {
  hold(go);
  p[threadIdx.x] = value + threadIdx.x; // finds: race
}
template <bool broken> __global__ void read_after_value(int *out, const int *p) {
  out[threadIdx.x] = p[63 - threadIdx.x]; // finds: race
}

template <bool broken> int run() {
  hipStream_t a, b, c, blocking;
  hipEvent_t event;
  HIP(hipStreamCreate(&blocking));
  HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&c, hipStreamNonBlocking));
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  Device<int> p(1024), out(1024);
  Device<unsigned> total(4);
  int *go;
  HIP(hipHostMalloc(&go, sizeof *go));
  const auto release = [&] {
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    finish();
  };
  finish();

  *go = !broken;
  fill_for_event<broken><<<1, 64, 0, a>>>(p.data, 5, go);
  HIP(hipEventRecord(event, a));
  if (!broken) HIP(hipStreamWaitEvent(b, event, 0));
  read_after_event<broken><<<1, 64, 0, b>>>(out.data, p.data);
  release();

  *go = !broken;
  fill_for_host<broken><<<1, 64, 0, a>>>(p.data, 6, go);
  if (!broken) HIP(hipStreamSynchronize(a));
  overwrite_after_host<broken><<<1, 64, 0, b>>>(p.data, 7);
  release();

  *go = !broken;
  fill_for_copy<broken><<<1, 64, 0, a>>>(p.data, 8, go);
  HIP(hipEventRecord(event, a));
  if (!broken) HIP(hipStreamWaitEvent(c, event, 0));
  HIP(hipMemcpyAsync(out.data, p.data, 256, hipMemcpyDeviceToDevice, c));
  HIP(hipEventRecord(event, c));
  HIP(hipStreamWaitEvent(b, event, 0));
  overwrite_after_copy<broken><<<1, 64, 0, b>>>(p.data, 9);
  release();

  *go = !broken;
  count_here<broken><<<1, 1, 0, a>>>(total.data, go);
  count_there<broken><<<1, 64, 0, b>>>(total.data);
  release();

  *go = !broken;
  if (broken) HIP(hipEventRecord(event, a));
  fill_after_record<broken><<<1, 64, 0, a>>>(p.data, 10, go);
  if (!broken) HIP(hipEventRecord(event, a));
  HIP(hipStreamWaitEvent(b, event, 0));
  read_after_record<broken><<<1, 64, 0, b>>>(out.data, p.data);
  release();

  *go = !broken;
  fill_beside_null<broken><<<1, 64, 0, broken ? a : blocking>>>(p.data, 11, go);
  read_on_null<broken><<<1, 64>>>(out.data, p.data);
  release();

  uint64_t *flag;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void **>(&flag), 8, hipMallocSignalMemory));
  HIP(hipStreamWriteValue64(a, flag, 0, 0));
  finish();
  *go = !broken;
  if (broken) HIP(hipStreamWriteValue64(a, flag, 77, 0));
  fill_for_value<broken><<<1, 64, 0, a>>>(p.data, 12, go);
  if (!broken) HIP(hipStreamWriteValue64(a, flag, 77, 0));
  HIP(hipStreamWaitValue64(b, flag, 77, hipStreamWaitValueEq));
  read_after_value<broken><<<1, 64, 0, b>>>(out.data, p.data);
  release();
  HIP(hipFree(flag));
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
