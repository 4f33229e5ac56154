// bfloat16 on the device: conversions round to nearest even, arithmetic is that of float rounded
// once more.
#include "../check.h"

#include <hip/hip_bfloat16.h>

#include <cmath>

__global__ void convert(const float *in, uint16_t *out, float *back, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    hip_bfloat16 v(in[i]);
    out[i] = v.data;
    back[i] = static_cast<float>(v);
  }
}
__global__ void arithmetic(const hip_bfloat16 *in, hip_bfloat16 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  hip_bfloat16 a = in[i], b = in[(i + 1) % n];
  out[6 * i] = a + b;
  out[6 * i + 1] = a - b;
  out[6 * i + 2] = a * b;
  out[6 * i + 3] = a / b;
  out[6 * i + 4] = -a;
  a += b;
  out[6 * i + 5] = a < b ? a : b;
}

// Independent of the header: nearest, ties to even, NaN stays NaN.
static uint16_t rounded(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  if (std::isnan(f)) return static_cast<uint16_t>(u >> 16 | 1);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static float widened(uint16_t bits) {
  uint32_t u = static_cast<uint32_t>(bits) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
static bool is_nan(uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }
static bool agree(uint16_t got, uint16_t want) {
  return got == want || (is_nan(got) && is_nan(want));
}

int main() {
  auto in = check::Random(1).bytes<float>(20000);
  for (uint32_t top = 0; top < 65536; top += 7) // ties and their neighbours
    for (uint32_t low : {0x7fffu, 0x8000u, 0x8001u}) {
      uint32_t u = top << 16 | low;
      float f;
      std::memcpy(&f, &u, 4);
      in.push_back(f);
    }
  const int n = static_cast<int>(in.size());
  check::Device<float> from(in), back(n);
  check::Device<uint16_t> bits(n);
  LAUNCH(convert, 40, 256, from.get(), bits.get(), back.get(), n);
  const auto got = bits.read();
  const auto wide = back.read();
  bool good = true;
  for (int i = 0; i < n; ++i) {
    good = good && agree(got[i], rounded(in[i]));
    good = good && (is_nan(got[i]) || wide[i] == widened(got[i]));
  }
  EXPECT(good);

  std::vector<hip_bfloat16> values(4096);
  for (auto &v : values) v.data = static_cast<uint16_t>(check::Random(&v - values.data()).next());
  const int m = static_cast<int>(values.size());
  check::Device<hip_bfloat16> operands(values), results(6 * m);
  LAUNCH(arithmetic, 16, 256, operands.get(), results.get(), m);
  const auto r = results.read();
  for (int i = 0; i < m; ++i) {
    const float a = widened(values[i].data), b = widened(values[(i + 1) % m].data);
    const uint16_t sum = rounded(a + b);
    EXPECT(agree(r[6 * i].data, sum));
    EXPECT(agree(r[6 * i + 1].data, rounded(a - b)));
    EXPECT(agree(r[6 * i + 2].data, rounded(a * b)));
    EXPECT(agree(r[6 * i + 3].data, rounded(a / b)));
    EXPECT(agree(r[6 * i + 4].data, rounded(-a)));
    EXPECT(agree(r[6 * i + 5].data, widened(sum) < b ? sum : rounded(b)));
  }
  return check::result();
}
