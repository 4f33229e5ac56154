// Two devices: each has its own memory and variables, and can copy from and reach into the other.
#include "../check.h"

__device__ int mine = 10;

__global__ void add_mine(int *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] += mine;
}
__global__ void copy_from(const int *other, int *here, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) here[i] = 2 * other[i];
}

// Instinct cards see each other's memory; the consumer cards do not, and say so.
static void reach_into_the_other(int *block[2], const std::vector<int> &start) {
  const int n = static_cast<int>(start.size()), bytes = n * sizeof(int);
  int can = 0;
  HIP(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, check::architecture() == "gfx90a" ? 1 : 0);
  HIP(hipSetDevice(0));
  if (!can) {
    EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorInvalidDevice);
    return;
  }
  HIP(hipMemcpy(block[1], start.data(), bytes, hipMemcpyDefault));
  HIP(hipDeviceEnablePeerAccess(1, 0));
  LAUNCH(copy_from, 16, 256, block[1], block[0], n);
  std::vector<int> got(n), want(n);
  HIP(hipMemcpy(got.data(), block[0], bytes, hipMemcpyDefault));
  for (int i = 0; i < n; ++i) want[i] = 2 * start[i];
  EXPECT_SAME(got, want);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  HIP(hipDeviceDisablePeerAccess(1));
}

int main() {
  int devices = 0;
  HIP(hipGetDeviceCount(&devices));
  EXPECT_EQ(devices, 2);
  if (devices != 2) return check::result();

  const int n = 4000, bytes = n * sizeof(int);
  std::vector<int> start(n), got(n), want(n);
  for (int i = 0; i < n; ++i) start[i] = i;
  int *block[2];
  for (int d : {0, 1}) {
    HIP(hipSetDevice(d));
    int value = 100 * (d + 1);
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(mine), &value, sizeof value));
    HIP(hipMalloc(&block[d], bytes));
    HIP(hipMemcpy(block[d], start.data(), bytes, hipMemcpyHostToDevice));
  }
  for (int d : {0, 1}) { // both run at the same time
    HIP(hipSetDevice(d));
    LAUNCH(add_mine, 16, 256, block[d], n);
  }
  for (int d : {0, 1}) {
    HIP(hipSetDevice(d));
    HIP(hipMemcpy(got.data(), block[d], bytes, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) want[i] = i + 100 * (d + 1);
    EXPECT_SAME(got, want);
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, block[d]));
    EXPECT_EQ(attributes.device, d);
  }

  HIP(hipMemcpyPeer(block[0], 0, block[1], 1, bytes));
  HIP(hipMemcpy(got.data(), block[0], bytes, hipMemcpyDefault));
  EXPECT_SAME(got, want);
  std::vector<int> other(n, 77);
  HIP(hipMemcpy(block[0], other.data(), bytes, hipMemcpyHostToDevice));
  hipStream_t stream;
  HIP(hipSetDevice(0));
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpyPeerAsync(block[1], 1, block[0], 0, bytes, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemcpy(got.data(), block[1], bytes, hipMemcpyDefault));
  EXPECT_SAME(got, other);
  HIP(hipStreamDestroy(stream));

  reach_into_the_other(block, start);

  // An event of one device holds up a stream of the other.
  HIP(hipSetDevice(0));
  hipEvent_t done;
  HIP(hipEventCreateWithFlags(&done, hipEventDisableTiming));
  HIP(hipMemset(block[0], 0, bytes));
  LAUNCH(add_mine, 16, 256, block[0], n);
  HIP(hipEventRecord(done, nullptr));
  HIP(hipSetDevice(1));
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamWaitEvent(stream, done, 0));
  HIP(hipMemcpyPeerAsync(block[1], 1, block[0], 0, bytes, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemcpy(got.data(), block[1], bytes, hipMemcpyDefault));
  EXPECT_SAME(got, std::vector<int>(n, 100));
  return check::result();
}
