// Every form of memset fills exactly what it was asked to fill.
#include "../check.h"

// HIP 5.2 itself asks for a fill of nearly 2^32 bytes when a block ends before the next multiple of
// eight.
static bool asked_for_rightly(size_t at, size_t bytes) {
  return bytes == 0 || at + bytes >= (at + 7) / 8 * 8;
}

static void bytes_at_any_offset() {
  const auto background = check::Random(1).bytes<uint8_t>(9000);
  for (size_t at : {0, 1, 2, 3, 4, 5, 13, 4095})
    for (size_t count : {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 255, 256, 1000, 4097}) {
      if (!asked_for_rightly(at, count)) continue;
      check::Device<uint8_t> block(background);
      HIP(hipMemset(block + at, 0xa7, count));
      auto want = background;
      std::memset(want.data() + at, 0xa7, count);
      EXPECT_SAME(block.read(), want);
    }
}

template <class T, class Set> static void elements(Set set, T value) {
  const auto background = check::Random(sizeof(T)).bytes<T>(5000);
  for (size_t at : {0, 1, 7})
    for (size_t count : {1, 2, 3, 100, 4097}) {
      if (!asked_for_rightly(at * sizeof(T), count * sizeof(T))) continue;
      check::Device<T> block(background);
      HIP(set(block + at, value, count));
      HIP(hipDeviceSynchronize());
      auto want = background;
      std::fill_n(want.begin() + at, count, value);
      EXPECT_SAME(block.read(), want);
    }
}

static void streams() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  check::Device<uint8_t> block(100000);
  HIP(hipMemsetAsync(block, 1, 100000, stream));
  HIP(hipMemsetAsync(block + 500, 2, 40000, stream));
  HIP(hipMemsetAsync(block + 700, 3, 33, stream));
  HIP(hipStreamSynchronize(stream));
  std::vector<uint8_t> want(100000, 1);
  std::fill_n(want.begin() + 500, 40000, 2);
  std::fill_n(want.begin() + 700, 33, 3);
  EXPECT_SAME(block.read(), want);
  HIP(hipStreamDestroy(stream));
}

static void rectangles_and_boxes() {
  const size_t pitch = 512, height = 30;
  auto want = check::Random(5).bytes<uint8_t>(pitch * height);
  check::Device<uint8_t> sheet(want);
  HIP(hipMemset2D(sheet + 3, pitch, 0x5c, 101, 20));
  for (size_t y = 0; y < 20; ++y) std::memset(want.data() + y * pitch + 3, 0x5c, 101);
  EXPECT_SAME(sheet.read(), want);

  HIP(hipMemset2DAsync(sheet, pitch, 0x11, pitch, height, nullptr));
  HIP(hipDeviceSynchronize());
  EXPECT_SAME(sheet.read(), std::vector<uint8_t>(pitch * height, 0x11));

  auto box = check::Random(6).bytes<uint8_t>(256 * 10 * 4);
  check::Device<uint8_t> block(box);
  HIP(hipMemset3D(make_hipPitchedPtr(block.get(), 256, 256, 10), 0x77, make_hipExtent(60, 7, 3)));
  for (size_t z = 0; z < 3; ++z)
    for (size_t y = 0; y < 7; ++y) std::memset(box.data() + (z * 10 + y) * 256, 0x77, 60);
  EXPECT_SAME(block.read(), box);
}

int main() {
  bytes_at_any_offset();
  elements<uint8_t>([](uint8_t *p, uint8_t v, size_t n) { return hipMemsetD8(p, v, n); }, 0x3d);
  elements<uint16_t>([](uint16_t *p, uint16_t v, size_t n) { return hipMemsetD16(p, v, n); },
                     0x1234);
  elements<uint32_t>([](uint32_t *p, uint32_t v, size_t n) { return hipMemsetD32(p, v, n); },
                     0xdeadbeef);
  elements<uint32_t>(
      [](uint32_t *p, uint32_t v, size_t n) { return hipMemsetD32Async(p, v, n, nullptr); },
      0x01020304);
  streams();
  rectangles_and_boxes();
  return check::result();
}
