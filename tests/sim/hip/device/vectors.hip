// Loads and stores of all widths and alignments, vector types, and strings in device memory.
#include "../check.h"

template <class T> __global__ void copy_as(const uint8_t *in, uint8_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T v;
  __builtin_memcpy(&v, in + i * sizeof(T), sizeof(T)); // whatever the alignment
  __builtin_memcpy(out + i * sizeof(T), &v, sizeof(T));
}

template <class T> static void copied() {
  const auto in = check::Random(sizeof(T)).bytes<uint8_t>(6000);
  check::Device<uint8_t> from(in), to(6000);
  for (int misalignment : {0, 1, 2, 4, 8}) {
    to.fill(0xee);
    int count = static_cast<int>(5000 / sizeof(T));
    LAUNCH(copy_as<T>, (count + 63) / 64, 64, from + misalignment, to + 16 + misalignment, count);
    std::vector<uint8_t> want(6000, 0xee);
    std::copy_n(in.begin() + misalignment, count * sizeof(T), want.begin() + 16 + misalignment);
    EXPECT_SAME(to.read(), want);
  }
}

// Signed and unsigned narrow loads, and narrow stores beside each other.
__global__ void narrow(const int8_t *b, const int16_t *h, int *out, uint8_t *bytes,
                       uint16_t *halves) {
  int i = threadIdx.x;
  out[4 * i] = b[i], out[4 * i + 1] = reinterpret_cast<const uint8_t *>(b)[i];
  out[4 * i + 2] = h[i], out[4 * i + 3] = reinterpret_cast<const uint16_t *>(h)[i];
  bytes[255 - i] = static_cast<uint8_t>(b[i] * 3);
  halves[255 - i] = static_cast<uint16_t>(h[i] * 5);
}

static void narrow_accesses() {
  auto b = check::Random(1).bytes<int8_t>(256);
  auto h = check::Random(2).bytes<int16_t>(256);
  check::Device<int8_t> db(b);
  check::Device<int16_t> dh(h);
  check::Device<int> out(1024);
  check::Device<uint8_t> bytes(256);
  check::Device<uint16_t> halves(256);
  LAUNCH(narrow, 1, 256, db.get(), dh.get(), out.get(), bytes.get(), halves.get());
  std::vector<int> want(1024);
  std::vector<uint8_t> want_bytes(256);
  std::vector<uint16_t> want_halves(256);
  for (int i = 0; i < 256; ++i) {
    want[4 * i] = b[i], want[4 * i + 1] = static_cast<uint8_t>(b[i]);
    want[4 * i + 2] = h[i], want[4 * i + 3] = static_cast<uint16_t>(h[i]);
    want_bytes[255 - i] = static_cast<uint8_t>(b[i] * 3);
    want_halves[255 - i] = static_cast<uint16_t>(h[i] * 5);
  }
  EXPECT_SAME(out.read(), want);
  EXPECT_SAME(bytes.read(), want_bytes);
  EXPECT_SAME(halves.read(), want_halves);
}

__global__ void vector_arithmetic(const float4 *in, float4 *out, const uchar4 *pixels,
                                  uchar4 *turned, int3 *odd) {
  int i = threadIdx.x;
  float4 v = in[i];
  out[i] = v * make_float4(1, 2, 3, 4) + make_float4(v.w, v.z, v.y, v.x);
  uchar4 p = pixels[i];
  turned[i] = make_uchar4(p.w, p.x, p.y, p.z);
  odd[i] = make_int3(i, -i, p.x);
}

static void vector_types() {
  std::vector<float> in(4 * 64), want(4 * 64);
  check::Random random(4);
  for (auto &v : in) v = static_cast<float>(random.below(1000));
  auto pixels = random.bytes<uint8_t>(4 * 64);
  std::vector<uint8_t> turned(4 * 64);
  std::vector<int> odd(3 * 64);
  for (int i = 0; i < 64; ++i) {
    for (int c = 0; c < 4; ++c) {
      want[4 * i + c] = in[4 * i + c] * static_cast<float>(c + 1) + in[4 * i + 3 - c];
      turned[4 * i + (c + 1) % 4] = pixels[4 * i + c];
    }
    odd[3 * i] = i, odd[3 * i + 1] = -i, odd[3 * i + 2] = pixels[4 * i];
  }
  check::Device<float> from(in), to(4 * 64);
  check::Device<uint8_t> p(pixels), t(4 * 64);
  check::Device<int> o(3 * 64);
  LAUNCH(vector_arithmetic, 1, 64, reinterpret_cast<const float4 *>(from.get()),
         reinterpret_cast<float4 *>(to.get()), reinterpret_cast<const uchar4 *>(p.get()),
         reinterpret_cast<uchar4 *>(t.get()), reinterpret_cast<int3 *>(o.get()));
  EXPECT_SAME(to.read(), want);
  EXPECT_SAME(t.read(), turned);
  EXPECT_SAME(o.read(), odd);
}

struct Odd { // 3 + 7 bytes, no padding
  uint8_t head[3];
  uint8_t tail[7];
};
struct Wide {
  uint64_t words[4];
};

int main() {
  copied<uint8_t>();
  copied<uint16_t>();
  copied<uint32_t>();
  copied<uint64_t>();
  copied<float3>();
  copied<uint4>();
  copied<Wide>();
  copied<Odd>();
  narrow_accesses();
  vector_types();
  return check::result();
}
