// Every form of a plain copy moves exactly the bytes it was asked to move.
#include "../check.h"

static std::vector<uint8_t> pattern(size_t n, uint64_t seed) {
  return check::Random(seed).bytes<uint8_t>(n);
}

// Copies of awkward sizes at awkward offsets leave their surroundings alone.
static void parts_of_a_block() {
  const size_t size = 10000;
  const auto source = pattern(size, 1), background = pattern(size, 2);
  for (size_t from : {0, 1, 3, 64, 4093})
    for (size_t to : {0, 2, 5, 63, 4095})
      for (size_t count : {0, 1, 2, 7, 16, 63, 64, 65, 255, 1025, 5000}) {
        check::Device<uint8_t> block(background), other(background);
        HIP(hipMemcpy(block + to, source.data() + from, count, hipMemcpyHostToDevice));
        HIP(hipMemcpy(other + from, block + to, count, hipMemcpyDeviceToDevice));
        auto want = background, want_other = background;
        std::memcpy(want.data() + to, source.data() + from, count);
        std::memcpy(want_other.data() + from, source.data() + from, count);
        EXPECT_SAME(block.read(), want);
        EXPECT_SAME(other.read(), want_other);
        auto host = background;
        HIP(hipMemcpy(host.data() + from, block + to, count, hipMemcpyDeviceToHost));
        EXPECT_SAME(host, want_other);
      }
}

static void large_copies(size_t size) {
  const auto source = pattern(size, size);
  check::Device<uint8_t> a(size), b(size);
  std::vector<uint8_t> back(size);
  HIP(hipMemcpy(a, source.data(), size, hipMemcpyHostToDevice));
  HIP(hipMemcpy(b, a, size, hipMemcpyDeviceToDevice));
  HIP(hipMemcpy(back.data(), b, size, hipMemcpyDeviceToHost));
  EXPECT_SAME(back, source);
}

static void direction_is_found_out() {
  const auto source = pattern(3000, 7);
  check::Device<uint8_t> a(3000), b(3000);
  std::vector<uint8_t> back(3000), again(3000);
  HIP(hipMemcpy(a, source.data(), 3000, hipMemcpyDefault));
  HIP(hipMemcpy(b, a, 3000, hipMemcpyDefault));
  HIP(hipMemcpy(back.data(), b, 3000, hipMemcpyDefault));
  EXPECT_SAME(back, source);
  HIP(hipMemcpy(again.data(), back.data(), 3000, hipMemcpyHostToHost));
  EXPECT_SAME(again, source);
}

static void driver_forms() {
  const auto source = pattern(5000, 9);
  check::Device<uint8_t> a(5000), b(5000);
  std::vector<uint8_t> back(5000);
  HIP(hipMemcpyHtoD(a.get(), const_cast<uint8_t *>(source.data()), 5000));
  HIP(hipMemcpyDtoD(b.get(), a.get(), 5000));
  HIP(hipMemcpyDtoH(back.data(), b.get(), 5000));
  EXPECT_SAME(back, source);
}

static void asynchronous_forms() {
  const size_t size = 300001;
  const auto source = pattern(size, 11);
  uint8_t *pinned_in, *pinned_out;
  HIP(hipHostMalloc(&pinned_in, size));
  HIP(hipHostMalloc(&pinned_out, size));
  std::memcpy(pinned_in, source.data(), size);
  check::Device<uint8_t> a(size), b(size), c(size);
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpyAsync(a, pinned_in, size, hipMemcpyHostToDevice, stream));
  HIP(hipMemcpyAsync(b, a, size, hipMemcpyDeviceToDevice, stream));
  HIP(hipMemcpyDtoDAsync(c.get(), b.get(), size, stream));
  HIP(hipMemcpyAsync(pinned_out, c, size, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT_SAME(std::vector<uint8_t>(pinned_out, pinned_out + size), source);

  // Ordinary host memory may be used, too.
  const auto second = pattern(size, 12);
  std::vector<uint8_t> back(size);
  HIP(hipMemcpyHtoDAsync(a.get(), const_cast<uint8_t *>(second.data()), size, stream));
  HIP(hipMemcpyDtoHAsync(back.data(), a.get(), size, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT_SAME(back, second);

  std::vector<uint8_t> third(size);
  HIP(hipMemcpyWithStream(third.data(), c, size, hipMemcpyDeviceToHost, stream)); // waits by itself
  EXPECT_SAME(third, source);
  HIP(hipStreamDestroy(stream));
  HIP(hipHostFree(pinned_in));
  HIP(hipHostFree(pinned_out));
}

int main() {
  parts_of_a_block();
  for (size_t size :
       {size_t{1} << 16, (size_t{1} << 20) + 1, (size_t{5} << 20) - 3, size_t{33} << 20})
    large_copies(size);
  direction_is_found_out();
  driver_forms();
  asynchronous_forms();
  return check::result();
}
