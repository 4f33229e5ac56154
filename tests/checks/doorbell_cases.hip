// A packet processor that is at work takes packets as soon as they are valid. So a kernel may begin,
// and end, before the host has rung the doorbell for it: here it always does, because the doorbell
// is only rung when the kernel's results are there.
#include "cases.h"

#include <atomic>
#include <dlfcn.h>

namespace {

constexpr int kCount = 32; ///< one wave: it tells nobody anything
std::atomic<uint64_t> doorbell{0}; ///< of the stream
std::atomic<int *> gate{nullptr};  ///< opened when the next packet is there
int *results = nullptr;

} // namespace

// HIP's calls come here first.
extern "C" void hsa_signal_store_screlease(uint64_t signal, int64_t value) {
  static const auto ring = reinterpret_cast<void (*)(uint64_t, int64_t)>(
      dlsym(RTLD_NEXT, "hsa_signal_store_screlease"));
  int *const closed = doorbell == signal ? gate.exchange(nullptr) : nullptr;
  if (closed) {
    __atomic_store_n(closed, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&results[kCount - 1], __ATOMIC_ACQUIRE) != kCount) {}
  }
  if (!gate) doorbell = signal;
  ring(signal, value);
}

__global__ void waits(volatile int *gate) {
  while (!*gate) {}
}

__global__ void fills(int *p) {
  p[threadIdx.x] = threadIdx.x + 1; // finds: race
}

template <bool broken> int run() {
  int *open = nullptr;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&open), sizeof *open));
  HIP(hipHostMalloc(reinterpret_cast<void **>(&results), kCount * sizeof(int)));
  std::memset(results, 0, kCount * sizeof(int));
  *open = 0;
  Device<int> copy(kCount);
  hipStream_t stream, other;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  hipEvent_t filled;
  HIP(hipEventCreate(&filled));

  waits<<<1, 1, 0, stream>>>(open);
  gate = open;
  fills<<<1, kCount, 0, stream>>>(results);
  const bool was_late = !gate;
  __atomic_store_n(open, 1, __ATOMIC_RELEASE); // it has not been, if the doorbell was not seen
  HIP(hipEventRecord(filled, stream));
  if (!broken) HIP(hipStreamWaitEvent(other, filled, 0));
  HIP(hipMemcpyAsync(copy.data, results, kCount * sizeof(int), hipMemcpyHostToDevice, other)); // finds: race
  finish();
  HIP(hipEventDestroy(filled));
  HIP(hipStreamDestroy(stream));
  HIP(hipStreamDestroy(other));
  HIP(hipHostFree(open));
  HIP(hipHostFree(results));
  if (!was_late) return 4; // the doorbell was not seen
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
