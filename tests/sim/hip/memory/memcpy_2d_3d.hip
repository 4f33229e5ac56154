// Copies of rectangles and boxes move the rows they name and nothing between them.
#include "../check.h"

struct Sheet { // bytes with a pitch
  size_t pitch, rows;
  std::vector<uint8_t> bytes;
  Sheet(size_t p, size_t r, uint64_t seed)
      : pitch(p), rows(r), bytes(check::Random(seed).bytes<uint8_t>(p * r)) {}
};

static void overlay(Sheet &to, const Sheet &from, size_t width, size_t height) {
  for (size_t y = 0; y < height; ++y)
    std::memcpy(to.bytes.data() + y * to.pitch, from.bytes.data() + y * from.pitch, width);
}

static void rectangles(bool async) {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  auto copy = [&](void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t w,
                  size_t h, hipMemcpyKind kind) {
    if (!async) return HIP(hipMemcpy2D(to, to_pitch, from, from_pitch, w, h, kind));
    HIP(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, w, h, kind, stream));
    HIP(hipStreamSynchronize(stream));
  };
  for (auto [width, height] :
       {std::pair<size_t, size_t>{1, 1}, {64, 10}, {100, 33}, {257, 5}, {512, 64}}) {
    Sheet source(600, 80, 1), first(768, 80, 2), second(640, 80, 3), back(700, 80, 4);
    check::Device<uint8_t> a(first.bytes), b(second.bytes);
    copy(a, first.pitch, source.bytes.data(), source.pitch, width, height, hipMemcpyHostToDevice);
    copy(b, second.pitch, a, first.pitch, width, height, hipMemcpyDeviceToDevice);
    Sheet got = back;
    copy(got.bytes.data(), got.pitch, b, second.pitch, width, height, hipMemcpyDeviceToHost);
    overlay(first, source, width, height);
    overlay(second, source, width, height);
    overlay(back, source, width, height);
    EXPECT_SAME(a.read(), first.bytes);
    EXPECT_SAME(b.read(), second.bytes);
    EXPECT_SAME(got.bytes, back.bytes);
  }
  HIP(hipStreamDestroy(stream));
}

static void rectangle_by_description() {
  Sheet source(300, 40, 5), target(512, 40, 6);
  check::Device<uint8_t> device(target.bytes);
  hip_Memcpy2D p{};
  p.srcMemoryType = hipMemoryTypeHost;
  p.srcHost = source.bytes.data();
  p.srcPitch = source.pitch;
  p.srcXInBytes = 12;
  p.srcY = 3;
  p.dstMemoryType = hipMemoryTypeDevice;
  p.dstDevice = device.get();
  p.dstPitch = target.pitch;
  p.dstXInBytes = 100;
  p.dstY = 7;
  p.WidthInBytes = 200;
  p.Height = 20;
  HIP(hipMemcpyParam2D(&p));
  for (size_t y = 0; y < p.Height; ++y)
    std::memcpy(target.bytes.data() + (7 + y) * 512 + 100, source.bytes.data() + (3 + y) * 300 + 12,
                200);
  EXPECT_SAME(device.read(), target.bytes);
}

static void boxes(bool async) {
  const size_t pitch = 256, height = 20, depth = 6;
  auto source = check::Random(8).bytes<uint8_t>(pitch * height * depth);
  auto target = check::Random(9).bytes<uint8_t>(pitch * height * depth);
  check::Device<uint8_t> device(target);
  hipMemcpy3DParms p{};
  p.srcPtr = make_hipPitchedPtr(source.data(), pitch, pitch, height);
  p.dstPtr = make_hipPitchedPtr(device.get(), pitch, pitch, height);
  p.srcPos = make_hipPos(16, 2, 1);
  p.dstPos = make_hipPos(32, 5, 2);
  p.extent = make_hipExtent(100, 9, 3);
  p.kind = hipMemcpyHostToDevice;
  if (async) {
    HIP(hipMemcpy3DAsync(&p, nullptr));
    HIP(hipDeviceSynchronize());
  } else {
    HIP(hipMemcpy3D(&p));
  }
  for (size_t z = 0; z < 3; ++z)
    for (size_t y = 0; y < 9; ++y)
      std::memcpy(target.data() + ((2 + z) * height + 5 + y) * pitch + 32,
                  source.data() + ((1 + z) * height + 2 + y) * pitch + 16, 100);
  EXPECT_SAME(device.read(), target);
}

int main() {
  rectangles(false);
  rectangles(true);
  rectangle_by_description();
  boxes(false);
  boxes(true);
  return check::result();
}
