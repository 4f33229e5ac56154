// Work in one stream happens in order; streams meet where the application says so, and at the null
// stream.
#include "../check.h"

#include <atomic>

// x = x * factor + add is not commutative: any other order gives other numbers.
__global__ void step(uint32_t *x, uint32_t factor, uint32_t add) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * factor + add;
}

constexpr int items = 512;

static std::vector<uint32_t> after(std::vector<uint32_t> x, uint32_t steps, uint32_t salt) {
  for (uint32_t s = 0; s < steps; ++s)
    for (auto &v : x) v = v * (2 * s + 3) + s + salt;
  return x;
}

static void streams_keep_their_order(unsigned flags) {
  const int streams = 8, steps = 60;
  std::vector<hipStream_t> stream(streams);
  std::vector<uint32_t *> block(streams);
  const auto start = check::Random(3).bytes<uint32_t>(items);
  for (int s = 0; s < streams; ++s) {
    HIP(hipStreamCreateWithFlags(&stream[s], flags));
    HIP(hipMalloc(&block[s], items * 4));
    HIP(hipMemcpyAsync(block[s], start.data(), items * 4, hipMemcpyHostToDevice, stream[s]));
  }
  for (int k = 0; k < steps; ++k)
    for (int s = 0; s < streams; ++s) step<<<2, 256, 0, stream[s]>>>(block[s], 2 * k + 3, k + s);
  for (int s = 0; s < streams; ++s) {
    std::vector<uint32_t> got(items);
    HIP(hipMemcpyAsync(got.data(), block[s], items * 4, hipMemcpyDeviceToHost, stream[s]));
    HIP(hipStreamSynchronize(stream[s]));
    EXPECT_EQ(hipStreamQuery(stream[s]), hipSuccess);
    EXPECT_SAME(got, after(start, steps, s));
    HIP(hipStreamDestroy(stream[s]));
    HIP(hipFree(block[s]));
  }
}

__global__ void wait_for(const volatile int *flag) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(8);
}

static void null_stream_waits_for_the_others() {
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  *flag = 0;
  hipStream_t ordinary, independent;
  HIP(hipStreamCreate(&ordinary));
  HIP(hipStreamCreateWithFlags(&independent, hipStreamNonBlocking));
  check::Device<uint32_t> block(std::vector<uint32_t>(items, 1)),
      other(std::vector<uint32_t>(items, 1));
  wait_for<<<1, 1, 0, ordinary>>>(flag);
  step<<<2, 256, 0, ordinary>>>(block, 10, 0);
  step<<<2, 256>>>(block, 1, 5);                 // null stream: after the one above
  step<<<2, 256, 0, independent>>>(other, 7, 0); // does not wait for anybody
  HIP(hipStreamSynchronize(independent));
  EXPECT_EQ(hipStreamQuery(ordinary), hipErrorNotReady);
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipDeviceSynchronize());
  EXPECT_SAME(block.read(), std::vector<uint32_t>(items, 15));
  EXPECT_SAME(other.read(), std::vector<uint32_t>(items, 7));
  HIP(hipStreamDestroy(ordinary));
  HIP(hipStreamDestroy(independent));
  HIP(hipHostFree(flag));
}

struct Seen {
  const uint32_t *value;
  std::atomic<int> calls{0};
  uint32_t at_call = 0;
};

static void host_functions_run_in_turn() {
  uint32_t *x;
  HIP(hipHostMalloc(&x, items * 4));
  std::fill_n(x, items, 3u);
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  Seen seen;
  seen.value = x;
  step<<<2, 256, 0, stream>>>(x, 10, 1);
  HIP(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t status, void *data) {
        auto *s = static_cast<Seen *>(data);
        EXPECT_EQ(status, hipSuccess);
        s->at_call = *s->value;
        ++s->calls;
      },
      &seen, 0));
  step<<<2, 256, 0, stream>>>(x, 100, 0);
  HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(seen.calls.load(), 1);
  EXPECT_EQ(seen.at_call, 31u); // after the first kernel, before the second
  EXPECT_EQ(x[0], 3100u);
  HIP(hipStreamDestroy(stream));
  HIP(hipHostFree(x));
}

static void priorities() {
  int least, greatest, got;
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  for (int priority : {least, greatest}) {
    hipStream_t stream;
    HIP(hipStreamCreateWithPriority(&stream, hipStreamDefault, priority));
    HIP(hipStreamGetPriority(stream, &got));
    EXPECT_EQ(got, priority);
    check::Device<uint32_t> block(std::vector<uint32_t>(items, 1));
    step<<<2, 256, 0, stream>>>(block, 5, 5);
    HIP(hipStreamSynchronize(stream));
    EXPECT_SAME(block.read(), std::vector<uint32_t>(items, 10));
    HIP(hipStreamDestroy(stream));
  }
}

// Memory operations that a stream does itself.
static void streams_write_and_wait_for_values() {
  hipStream_t writer, waiter;
  HIP(hipStreamCreateWithFlags(&writer, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&waiter, hipStreamNonBlocking));
  uint64_t *signal;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void **>(&signal), sizeof *signal,
                            hipMallocSignalMemory));
  HIP(hipStreamWriteValue64(writer, signal, 0, 0));
  HIP(hipStreamSynchronize(writer));
  check::Device<uint32_t> block(std::vector<uint32_t>(items, 4));
  HIP(hipStreamWaitValue64(waiter, signal, 77, hipStreamWaitValueEq));
  step<<<2, 256, 0, waiter>>>(block, 3, 0);
  EXPECT_EQ(hipStreamQuery(waiter), hipErrorNotReady);
  step<<<2, 256, 0, writer>>>(block, 1, 1);
  HIP(hipStreamWriteValue64(writer, signal, 77, 0));
  HIP(hipStreamSynchronize(waiter));
  EXPECT_SAME(block.read(), std::vector<uint32_t>(items, 15));
  HIP(hipStreamDestroy(writer));
  HIP(hipStreamDestroy(waiter));
  HIP(hipFree(signal));
}

int main() {
  streams_keep_their_order(hipStreamDefault);
  streams_keep_their_order(hipStreamNonBlocking);
  null_stream_waits_for_the_others();
  host_functions_run_in_turn();
  priorities();
  streams_write_and_wait_for_values();
  return check::result();
}
