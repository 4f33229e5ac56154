// Copies, fills and the end of memory beside kernels: what orders them, and what does not. Nothing
// here depends on time: kernels and copies may end before the next call, or long after it.
#include "cases.h"

struct Streams {
  hipStream_t a, b, blocking;
  hipEvent_t event;
  Streams() {
    HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    HIP(hipStreamCreate(&blocking));
    HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  }
  // What comes next in `then` is behind what is in `first`.
  void order(hipStream_t first, hipStream_t then) {
    HIP(hipEventRecord(event, first));
    HIP(hipStreamWaitEvent(then, event, 0));
  }
};

// ---- results are fetched before the kernel has ended
template <bool broken> __global__ void fill_for_copy(int *p, int value) {
  p[threadIdx.x] = value + threadIdx.x; // finds: race says: hipMemcpyAsync reads byte 0 of allocation
}
template <bool broken> void run_fetch(Streams &s, int *p, int *pinned) {
  fill_for_copy<broken><<<1, 64, 0, s.a>>>(p, 5);
  if (!broken) s.order(s.a, s.b);
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, s.b)); // finds: race
  finish();
}

// ---- the next input arrives while the kernel still reads
template <bool broken> __global__ void sum(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] + p[63 - threadIdx.x]; // finds: race says: hipMemcpyAsync writes byte
}
template <bool broken> void run_next(Streams &s, int *p, int *out, const int *pinned) {
  HIP(hipMemcpyAsync(p, pinned, 256, hipMemcpyHostToDevice, s.a));
  sum<broken><<<1, 64, 0, s.a>>>(p, out);
  if (!broken) HIP(hipStreamSynchronize(s.a));
  HIP(hipMemcpyAsync(p, pinned, 256, hipMemcpyHostToDevice, s.b)); // finds: race
  // Beside it is fine.
  HIP(hipMemcpyAsync(p + 64, pinned, 256, hipMemcpyHostToDevice, s.b));
  finish();
}

// ---- the kernel does not wait for its input
template <bool broken> __global__ void use_early(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 3; // finds: race
}
template <bool broken> void run_input(Streams &s, int *p, int *out, const int *pageable) {
  HIP(hipMemcpyAsync(p, pageable, 256, hipMemcpyHostToDevice, s.a)); // finds: race
  if (!broken) s.order(s.a, s.b);
  use_early<broken><<<1, 64, 0, s.b>>>(p, out);
  finish();
}

// ---- from device to device, and fills
template <bool broken> __global__ void change(int *p) {
  p[threadIdx.x] += 1; // finds: race
}
template <bool broken> void run_device(Streams &s, int *p, int *out) {
  change<broken><<<1, 64, 0, s.a>>>(p);
  if (!broken) HIP(hipEventRecord(s.event, s.a));
  if (!broken) HIP(hipEventSynchronize(s.event));
  HIP(hipMemcpyAsync(out, p, 256, hipMemcpyDeviceToDevice, s.b)); // finds: race
  HIP(hipMemsetAsync(p + 128, 0, 256, s.b));
  finish();
}
template <bool broken> __global__ void change_rows(int *p) {
  p[threadIdx.x * 32] = 7; // finds: race says: hipMemset2DAsync writes byte 128
}
template <bool broken> void run_rows(Streams &s, int *p) {
  change_rows<broken><<<1, 8, 0, s.a>>>(p);
  // The first column; or the second.
  HIP(hipMemset2DAsync(p + (broken ? 32 : 33), 128, 0, 4, 7, s.b)); // finds: race
  finish();
}

// ---- hipMemcpy is in order with streams that block, not with others
template <bool broken> __global__ void fill_beside(int *p, int value) {
  p[threadIdx.x] = value - threadIdx.x; // finds: race says: hipMemcpy reads
}
template <bool broken> void run_null(Streams &s, int *p) {
  std::vector<int> host(64);
  fill_beside<broken><<<1, 64, 0, broken ? s.a : s.blocking>>>(p, 6);
  HIP(hipMemcpy(host.data(), p, 256, hipMemcpyDeviceToHost)); // finds: race
  finish();
}

// ---- rows of a volume
template <bool broken> __global__ void fill_rows(int *p) {
  p[threadIdx.x] = threadIdx.x; // finds: race says: hipMemcpy3DAsync reads byte 8
}
template <bool broken> void run_volume(Streams &s, int *p, int *pinned) {
  fill_rows<broken><<<1, 64, 0, s.a>>>(p);
  // Eight bytes from the third element of each row of 16 on.
  hipMemcpy3DParms copy{};
  copy.srcPtr = make_hipPitchedPtr(p, 64, 16, 2);
  copy.srcPos = make_hipPos(8, 0, 0);
  copy.dstPtr = make_hipPitchedPtr(pinned, 8, 2, 2);
  copy.extent = make_hipExtent(8, 2, 2);
  copy.kind = hipMemcpyDeviceToHost;
  if (!broken) s.order(s.a, s.b);
  HIP(hipMemcpy3DAsync(&copy, s.b)); // finds: race
  finish();
}

// ---- constants are changed while a kernel reads them
__constant__ int factors[64];
template <bool broken> __global__ void scale(int *out) {
  out[threadIdx.x] = factors[threadIdx.x] * 2; // finds: race says: hipMemcpyToSymbol writes byte 0 of factors
}
template <bool broken> void run_constant(Streams &s, int *out) {
  const std::vector<int> values(64, 3);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), values.data(), 256));
  scale<broken><<<1, 64, 0, s.a>>>(out);
  if (!broken) HIP(hipStreamSynchronize(s.a));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), values.data(), 256)); // finds: race
  finish();
}

// ---- host memory is given up too early
template <bool broken> __global__ void use_registered(const int *host, int *out) {
  out[threadIdx.x] = host[threadIdx.x]; // finds: memory says: hipHostUnregister of memory that a kernel may still load from
}
template <bool broken> void run_registered(Streams &s, int *out) {
  std::vector<int> memory(4096, 1), other(4096, 2);
  HIP(hipHostRegister(memory.data(), 4 * 4096, hipHostRegisterDefault));
  HIP(hipHostRegister(other.data(), 4 * 4096, hipHostRegisterDefault));
  int *mapped;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&mapped), memory.data(), 0));
  use_registered<broken><<<1, 64, 0, s.a>>>(mapped, out);
  if (!broken) HIP(hipStreamSynchronize(s.a));
  HIP(hipHostUnregister(memory.data())); // finds: memory
  HIP(hipMemcpyAsync(out + 64, other.data(), 256, hipMemcpyHostToDevice, s.b)); // finds: memory
  if (!broken) HIP(hipStreamSynchronize(s.b));
  HIP(hipHostUnregister(other.data())); // finds: memory says: hipHostUnregister of memory that hipMemcpyAsync may still read
  finish();
}

// ---- memory of a pool, in two streams
template <bool broken> __global__ void use_pool(int *p) {
  p[threadIdx.x] = 4; // finds: memory says: in memory that hipMallocAsync allocates in another stream
}
template <bool broken> __global__ void use_before_free(int *p) {
  p[threadIdx.x] = 5; // finds: memory says: hipFreeAsync of memory that a kernel may still store to
}
template <bool broken> void run_pool(Streams &s) {
  int *p;
  HIP(hipMallocAsync(reinterpret_cast<void **>(&p), 512, s.a)); // finds: memory
  if (!broken) s.order(s.a, s.b);
  use_pool<broken><<<1, 64, 0, s.b>>>(p);
  finish();
  use_before_free<broken><<<1, 64, 0, s.b>>>(p);
  if (!broken) s.order(s.b, s.a);
  HIP(hipFreeAsync(p, s.a)); // finds: memory
  finish();
}

// ---- a pool hands memory out again that another stream still uses: the next owner does nothing wrong
template <bool broken> __global__ void uses_still(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x]; // finds: memory says: hipFreeAsync of memory that a kernel may still load from
}
__global__ void next_owner(int *p) { p[threadIdx.x] = 8; }
template <bool broken> void run_reuse(Streams &s, int *out) {
  int *p, *q;
  HIP(hipMallocAsync(reinterpret_cast<void **>(&p), 768, s.a));
  HIP(hipMemsetAsync(p, 0, 768, s.a));
  s.order(s.a, s.b);
  uses_still<broken><<<1, 64, 0, s.b>>>(p, out);
  if (!broken) s.order(s.b, s.a);
  HIP(hipFreeAsync(p, s.a)); // finds: memory
  HIP(hipMallocAsync(reinterpret_cast<void **>(&q), 768, s.a));
  next_owner<<<1, 64, 0, s.a>>>(q);
  HIP(hipMemsetAsync(q, 0, 768, s.a));
  s.order(s.a, s.b);
  next_owner<<<1, 64, 0, s.b>>>(q);
  s.order(s.b, s.a);
  HIP(hipFreeAsync(q, s.a));
  finish();
}

// ---- several waves store results to host memory: none of them is a flag
template <bool broken> __global__ void results(const int *p, int *host) {
  host[threadIdx.x] = p[threadIdx.x] + 1; // finds: race says: hipMemcpyAsync reads
}
template <bool broken> __global__ void used_by_many(const int *p, int *host) {
  host[threadIdx.x] = p[threadIdx.x] + 2; // finds: memory says: hipFreeAsync of memory that a kernel may still load from
}
template <bool broken> void run_results(Streams &s, const int *p, int *out) {
  int *host;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&host), 4096));
  results<broken><<<1, 256, 0, s.a>>>(p, host);
  if (!broken) s.order(s.a, s.b);
  HIP(hipMemcpyAsync(out, host, 1024, hipMemcpyHostToDevice, s.b)); // finds: race
  finish();
  int *pool;
  HIP(hipMallocAsync(reinterpret_cast<void **>(&pool), 1024, s.a));
  HIP(hipMemsetAsync(pool, 0, 1024, s.a));
  s.order(s.a, s.b);
  used_by_many<broken><<<1, 256, 0, s.b>>>(pool, host);
  if (!broken) s.order(s.b, s.a);
  HIP(hipFreeAsync(pool, s.a)); // finds: memory
  finish();
  HIP(hipHostFree(host));
}

// ---- clean, but not simple
__global__ void fill(int *p, int value) { p[threadIdx.x] = value; }
__global__ void tell(int *p, int *flag) {
  p[threadIdx.x] = 9;
  __threadfence_system();
  if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
// One wave tells the host that all of them are done.
__global__ void tell_for_all(int *p, int *flag) {
  if (threadIdx.x < 192) p[threadIdx.x] = 9;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 255) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__global__ void listen(int *out, const int *p, const int *flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0)
    __builtin_amdgcn_s_sleep(1);
  out[threadIdx.x] = p[threadIdx.x];
}
void run_tricky(Streams &s, int *p, int *q, int *pinned) {
  // Two hops.
  fill<<<1, 64, 0, s.a>>>(p, 1);
  s.order(s.a, s.blocking);
  s.order(s.blocking, s.b);
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, s.b));
  // Asked until it is done.
  fill<<<1, 64, 0, s.a>>>(q, 2);
  while (hipStreamQuery(s.a) != hipSuccess) {
  }
  HIP(hipMemcpyAsync(q, pinned + 64, 256, hipMemcpyHostToDevice, s.b));
  finish();
  // The null stream orders those that block.
  hipStream_t other;
  HIP(hipStreamCreate(&other));
  fill<<<1, 64, 0, s.blocking>>>(p, 3);
  fill<<<1, 64>>>(q, 3);
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, other));
  HIP(hipStreamSynchronize(other));
  HIP(hipStreamDestroy(other));
  // Both only read.
  finish();
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, s.a));
  sum<false><<<1, 64, 0, s.b>>>(p, q);
  finish();
  // Through memory, without a call.
  int *flag;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&flag), 8));
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  tell<<<1, 64, 0, s.a>>>(p, flag);
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
  }
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, s.b));
  finish();
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  tell_for_all<<<1, 256, 0, s.a>>>(p, flag);
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
  }
  HIP(hipMemcpyAsync(pinned, p, 256, hipMemcpyDeviceToHost, s.b));
  finish();
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  listen<<<1, 64, 0, s.a>>>(q, p, flag);
  HIP(hipMemcpyAsync(p, pinned, 256, hipMemcpyHostToDevice, s.b));
  HIP(hipStreamSynchronize(s.b));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  finish();
  // hipFree and hipHostFree wait for the device.
  int *late;
  HIP(hipMalloc(&late, 256));
  fill<<<1, 64, 0, s.a>>>(late, 1);
  HIP(hipFree(late));
  HIP(hipMemcpyAsync(flag, p, 8, hipMemcpyDeviceToHost, s.a));
  HIP(hipHostFree(flag));
  // What comes back to the host's own memory is there when the call returns.
  std::vector<int> host(64);
  HIP(hipMemcpyAsync(host.data(), q, 256, hipMemcpyDeviceToHost, s.a));
  fill<<<1, 64, 0, s.b>>>(q, 8);
  finish();
}

template <bool broken> int run() {
  {
    Streams s;
    Device<int> p(256), q(256), out(256);
    std::vector<int> pageable(64, 1);
    int *pinned;
    HIP(hipHostMalloc(reinterpret_cast<void **>(&pinned), 4096));
    std::memset(pinned, 1, 4096);
    finish();
    run_fetch<broken>(s, p.data, pinned);
    run_volume<broken>(s, p.data, pinned);
    run_next<broken>(s, p.data, out.data, pinned);
    run_input<broken>(s, p.data, out.data, pageable.data());
    run_device<broken>(s, p.data, out.data);
    run_rows<broken>(s, p.data);
    run_null<broken>(s, p.data);
    run_constant<broken>(s, out.data);
    run_registered<broken>(s, out.data);
    run_tricky(s, p.data, q.data, pinned);
    run_pool<broken>(s);
    run_reuse<broken>(s, out.data);
    run_results<broken>(s, p.data, out.data);
    HIP(hipHostFree(pinned));
  }
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
