// Work that waits for other work in all the ways that HIP has. The argument says in which.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr int kTurns = 300;

#define KERNEL(name)                                                                               \
  __global__ void name(int *out) {                                                                 \
    int value = out[threadIdx.x];                                                                  \
    for (int i = 0; i < kTurns; ++i) value = value * 3 + i;                                        \
    out[threadIdx.x] = value;                                                                      \
  }
KERNEL(root)
KERNEL(left)
KERNEL(right)
KERNEL(join)

/// So long that the program has nothing to do but to wait for it.
__global__ void slow(int *out, int turns) {
  int value = out[threadIdx.x];
  for (int i = 0; i < turns; ++i) value = value * 3 + i;
  out[threadIdx.x] = value;
}

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);
}

int *memory() {
  int *p = nullptr;
  check(hipMalloc(reinterpret_cast<void **>(&p), 4096));
  check(hipMemset(p, 0, 4096));
  check(hipDeviceSynchronize());
  return p;
}

/// root, then left and right side by side, then join.
void fork(hipStream_t a, hipStream_t b, hipEvent_t split, hipEvent_t meet, int *p) {
  root<<<1, 64, 0, a>>>(p);
  check(hipEventRecord(split, a));
  check(hipStreamWaitEvent(b, split, 0));
  left<<<1, 64, 0, b>>>(p + 256);
  right<<<1, 64, 0, a>>>(p + 512);
  check(hipEventRecord(meet, b));
  check(hipStreamWaitEvent(a, meet, 0));
  join<<<1, 64, 0, a>>>(p);
}

/// A kernel, and a call that waits for it in one of the ways. False: there is no such way.
bool waitFor(const char *way, hipStream_t a, hipStream_t b, hipEvent_t event, int *p) {
  const auto is = [&](const char *name) { return std::strcmp(way, name) == 0; };
  constexpr int turns = 800'000; // long after the program waits, on a busy machine, too
  const bool is_on_a = is("hipStreamSynchronize") || is("hipEventSynchronize") ||
                       is("hipStreamWaitEvent") || is("hipMemcpyWithStream") || is("pageable") ||
                       is("hipStreamDestroy") || is("hipDeviceSynchronize");
  static int on_host[1024];
  hipStream_t blocking = nullptr;
  if (is("null stream")) check(hipStreamCreate(&blocking));
  slow<<<1, 64, 0, is_on_a ? a : blocking>>>(p, turns);
  if (is("hipMemcpy")) {
    check(hipMemcpy(on_host, p, 4096, hipMemcpyDeviceToHost));
  } else if (is("hipMemcpyWithStream")) {
    check(hipMemcpyWithStream(on_host, p, 4096, hipMemcpyDeviceToHost, a));
  } else if (is("pageable")) {
    check(hipMemcpyAsync(on_host, p, 4096, hipMemcpyDeviceToHost, a));
    check(hipStreamSynchronize(a));
  } else if (is("hipMemset")) {
    check(hipMemset(p, 0, 4096));
    check(hipDeviceSynchronize());
  } else if (is("hipFree")) {
    check(hipFree(p));
  } else if (is("hipDeviceSynchronize")) {
    check(hipDeviceSynchronize());
  } else if (is("hipStreamSynchronize")) {
    check(hipStreamSynchronize(a));
  } else if (is("hipStreamDestroy")) {
    check(hipStreamSynchronize(b));
    check(hipStreamDestroy(a));
  } else if (is("hipEventSynchronize")) {
    check(hipEventRecord(event, a));
    check(hipEventSynchronize(event));
  } else if (is("hipStreamWaitEvent")) {
    check(hipEventRecord(event, a));
    check(hipStreamWaitEvent(b, event, 0));
    check(hipStreamSynchronize(b));
  } else if (is("null stream")) {
    join<<<1, 64>>>(p + 256); // after what streams like that one do
    check(hipStreamSynchronize(nullptr));
  } else {
    return false;
  }
  return true;
}

} // namespace

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  int *p = memory();
  hipStream_t a, b;
  hipEvent_t split, meet;
  check(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  check(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  check(hipEventCreate(&split));
  check(hipEventCreate(&meet));
  if (std::strcmp(way, "events") == 0) {
    fork(a, b, split, meet, p);
    check(hipEventRecord(meet, a));
    while (hipEventQuery(meet) == hipErrorNotReady) std::this_thread::yield();
  } else if (std::strcmp(way, "graph") == 0) {
    hipGraph_t graph;
    hipGraphExec_t executable;
    check(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
    fork(a, b, split, meet, p);
    check(hipStreamEndCapture(a, &graph));
    check(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 2; ++i) check(hipGraphLaunch(executable, a));
    check(hipStreamSynchronize(a));
    check(hipGraphExecDestroy(executable));
    check(hipGraphDestroy(graph));
  } else if (std::strcmp(way, "two lengths") == 0) { // of one kernel, side by side
    // Long: what the host does before the second launch takes as long as it takes, on a busy
    // machine several milliseconds.
    slow<<<1, 64, 0, a>>>(p, 1'500'000);
    slow<<<1, 64, 0, b>>>(p + 256, 200);
    check(hipDeviceSynchronize());
  } else if (std::strcmp(way, "threads") == 0) {
    std::thread other([&] {
      left<<<1, 64, 0, hipStreamPerThread>>>(p + 256);
      check(hipStreamSynchronize(hipStreamPerThread));
    });
    right<<<1, 64, 0, hipStreamPerThread>>>(p + 512);
    check(hipStreamSynchronize(hipStreamPerThread));
    other.join();
    // The default stream waits for both.
    join<<<1, 64>>>(p);
    while (hipStreamQuery(nullptr) == hipErrorNotReady) std::this_thread::yield();
  } else if (std::strcmp(way, "values") == 0) {
    void *flag = nullptr;
    check(hipExtMallocWithFlags(&flag, 8, hipMallocSignalMemory));
    std::memset(flag, 0, 8);
    check(hipStreamWaitValue64(b, flag, 1, hipStreamWaitValueGte));
    root<<<1, 64, 0, a>>>(p);
    check(hipStreamWriteValue64(a, flag, 1, 0));
    left<<<1, 64, 0, b>>>(p + 256);
    check(hipDeviceSynchronize());
  } else if (std::strcmp(way, "callback") == 0) {
    root<<<1, 64, 0, a>>>(p);
    check(hipStreamAddCallback(
        a,
        [](hipStream_t, hipError_t, void *) {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        },
        nullptr, 0));
    left<<<1, 64, 0, a>>>(p);
    check(hipStreamSynchronize(a));
  } else if (*way != 0 && !waitFor(way, a, b, meet, p)) {
    std::printf("%s: no such way\n", way);
    return 1;
  }
  std::puts("ordered");
  return 0;
}
