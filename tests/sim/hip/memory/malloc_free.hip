// Blocks of device memory are apart from each other, as large as asked for, counted and given back.
#include "../check.h"

#include <algorithm>

__global__ void stamp(uint8_t *block, size_t size, uint8_t value) {
  size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    block[i] = value;
}

static void blocks_keep_their_contents() {
  const std::vector<size_t> sizes = {1, 3, 64, 4095, 4096, 4097, 70000, 1 << 20, (3 << 20) + 17};
  std::vector<std::pair<uint8_t *, size_t>> blocks;
  for (int round = 0; round < 4; ++round)
    for (size_t size : sizes) {
      uint8_t *p = nullptr;
      HIP(hipMalloc(&p, size));
      EXPECT(reinterpret_cast<uintptr_t>(p) % 256 == 0);
      blocks.push_back({p, size});
    }
  for (size_t i = 0; i < blocks.size(); ++i)
    LAUNCH(stamp, 4, 64, blocks[i].first, blocks[i].second, static_cast<uint8_t>(i + 1));
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<uint8_t> got(blocks[i].second), want(blocks[i].second, static_cast<uint8_t>(i + 1));
    HIP(hipMemcpy(got.data(), blocks[i].first, got.size(), hipMemcpyDeviceToHost));
    EXPECT_SAME(got, want);
  }
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 1; i < blocks.size(); ++i)
    EXPECT(blocks[i - 1].first + blocks[i - 1].second <= blocks[i].first);
  for (auto &[p, size] : blocks) HIP(hipFree(p));
}

static void memory_is_counted() {
  size_t free_before, free_with, free_after, total;
  HIP(hipMemGetInfo(&free_before, &total));
  EXPECT(total >= size_t{8} << 30);
  EXPECT(free_before <= total);
  const size_t size = size_t{2} << 30; // never touched, so it costs nothing
  void *p;
  HIP(hipMalloc(&p, size));
  HIP(hipMemGetInfo(&free_with, &total));
  EXPECT(free_before - free_with >= size);
  HIP(hipFree(p));
  HIP(hipMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, free_before);
}

static void wrong_requests_are_refused() {
  void *p = nullptr;
  EXPECT_EQ(hipMalloc(&p, size_t{1} << 46), hipErrorOutOfMemory);
  HIP(hipMalloc(&p, 0));
  EXPECT(p == nullptr);
  HIP(hipFree(nullptr));
  int on_the_stack = 0;
  EXPECT_EQ(hipFree(&on_the_stack), hipErrorInvalidValue);
  HIP(hipMalloc(&p, 100));
  HIP(hipFree(p));
  EXPECT_EQ(hipFree(p), hipErrorInvalidValue);
}

static void pointers_know_what_they_are() {
  check::Device<int> device(1000);
  hipPointerAttribute_t a;
  HIP(hipPointerGetAttributes(&a, device + 10));
  EXPECT_EQ(a.memoryType, hipMemoryTypeDevice);
  EXPECT(a.devicePointer == device + 10);
  void *base;
  size_t size;
  HIP(hipMemGetAddressRange(&base, &size, device + 10));
  EXPECT(base == device.get());
  EXPECT_EQ(size, 4000u);
  int here;
  EXPECT_EQ(hipPointerGetAttributes(&a, &here), hipErrorInvalidValue);
}

int main() {
  blocks_keep_their_contents();
  memory_is_counted();
  wrong_requests_are_refused();
  pointers_know_what_they_are();
  return check::result();
}
