// Arithmetic of half and half2 is that of IEEE binary16: exact operations agree with double
// arithmetic rounded once.
#include "../check.h"

#include <hip/hip_fp16.h>

#include <cmath>

// Through _Float16 of the compiler, which rounds to nearest even.
static uint16_t bits_of(double v) {
  _Float16 h = static_cast<_Float16>(v);
  uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
static double value_of(uint16_t bits) {
  _Float16 h;
  std::memcpy(&h, &bits, 2);
  return static_cast<double>(h);
}

constexpr int results = 16;

__global__ void scalars(const __half *in, __half *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  __half *r = out + results * i;
  int k = 0;
  r[k++] = __hadd(a, b), r[k++] = __hsub(a, b), r[k++] = __hmul(a, b), r[k++] = __hfma(a, b, c);
  r[k++] = __hneg(a), r[k++] = hfloor(a), r[k++] = hceil(a), r[k++] = htrunc(a), r[k++] = hrint(a);
  r[k++] = __float2half(__half2float(a) * 3.0f),
  r[k++] = __int2half_rn(static_cast<int>(__half2float(b)));
  r[k++] = __float2half(static_cast<float>(__hgt(a, b)) + 2 * __heq(a, b) + 4 * __hle(a, b));
  r[k++] = a + b, r[k++] = a * b, r[k++] = -a, r[k++] = __hge(a, b) ? a : b;
}

static void on_the_host(double a, double b, double c, uint16_t *r) {
  int k = 0;
  r[k++] = bits_of(a + b), r[k++] = bits_of(a - b), r[k++] = bits_of(a * b),
  r[k++] = bits_of(std::fma(a, b, c));
  r[k++] = bits_of(-a), r[k++] = bits_of(std::floor(a)), r[k++] = bits_of(std::ceil(a)),
  r[k++] = bits_of(std::trunc(a));
  r[k++] = bits_of(std::nearbyint(a)), r[k++] = bits_of(static_cast<float>(a) * 3.0f),
  r[k++] = bits_of(static_cast<int>(b));
  r[k++] = bits_of((a > b) + 2 * (a == b) + 4 * (a <= b));
  r[k++] = bits_of(a + b), r[k++] = bits_of(a * b), r[k++] = bits_of(-a),
  r[k++] = bits_of(a >= b ? a : b);
}

// fma of halves: the double sum a * b + c is exact enough unless it spans more than 53 bits, which
// std::fma avoids by rounding to double once; rounding that again to half is harmless for these
// inputs.
static uint16_t pick(check::Random &random) {
  if (random.below(3) == 0) return bits_of(static_cast<int>(random.below(2001)) - 1000);
  return bits_of(std::ldexp(random.real(-1, 1), static_cast<int>(random.below(20)) - 10));
}

static void scalar_operations() {
  const int n = 5000;
  check::Random random(3);
  std::vector<uint16_t> in(3 * n), want(results * n);
  for (auto &v : in) v = pick(random);
  for (int i = 0; i < n; ++i)
    on_the_host(value_of(in[3 * i]), value_of(in[3 * i + 1]), value_of(in[3 * i + 2]),
                want.data() + results * i);
  check::Device<uint16_t> from(in), to(results * n);
  LAUNCH(scalars, (n + 255) / 256, 256, reinterpret_cast<const __half *>(from.get()),
         reinterpret_cast<__half *>(to.get()), n);
  auto got = to.read();
  for (size_t i = 0; i < got.size(); ++i)
    if (!(got[i] == want[i] || (std::isnan(value_of(got[i])) && std::isnan(value_of(want[i])))))
      check::report(false, __FILE__, __LINE__,
                    "operation " + check::show(i % results) + " of " +
                        check::show(value_of(in[i / results * 3])) + ", " +
                        check::show(value_of(in[i / results * 3 + 1])) + ", " +
                        check::show(value_of(in[i / results * 3 + 2])) + " is " +
                        check::show(value_of(got[i])) + ", not " + check::show(value_of(want[i])));
  EXPECT(check::failed == 0);
}

__global__ void pairs(const __half2 *in, __half2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  __half2 *r = out + 6 * i;
  r[0] = __hadd2(a, b), r[1] = __hsub2(a, b), r[2] = __hmul2(a, b), r[3] = __hfma2(a, b, c),
  r[4] = __lowhigh2highlow(a);
  r[5] = __halves2half2(__high2half(b), __low2half(c));
}

static void packed_operations() {
  const int n = 3000;
  check::Random random(4);
  std::vector<uint16_t> in(6 * n), want(12 * n);
  for (auto &v : in) v = pick(random);
  for (int i = 0; i < n; ++i)
    for (int h = 0; h < 2; ++h) {
      double a = value_of(in[6 * i + h]), b = value_of(in[6 * i + 2 + h]),
             c = value_of(in[6 * i + 4 + h]);
      uint16_t *r = want.data() + 12 * i + h;
      r[0] = bits_of(a + b), r[2] = bits_of(a - b), r[4] = bits_of(a * b),
      r[6] = bits_of(std::fma(a, b, c));
      r[8] = in[6 * i + 1 - h];
      r[10] = h ? in[6 * i + 4] : in[6 * i + 3];
    }
  check::Device<uint16_t> from(in), to(12 * n);
  LAUNCH(pairs, (n + 255) / 256, 256, reinterpret_cast<const __half2 *>(from.get()),
         reinterpret_cast<__half2 *>(to.get()), n);
  EXPECT_SAME(to.read(), want);
}

// Every half to float and back; every float near halves to half.
__global__ void convert(const uint16_t *in, float *wide, uint16_t *back) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  wide[i] = __half2float(__ushort_as_half(in[i]));
  back[i] = __half_as_ushort(__float2half(wide[i] * 1.0003f));
}

static void all_conversions() {
  const int n = 0x7c00; // all finite positive ones
  std::vector<uint16_t> in(n), want_back(n);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<uint16_t>(i);
    want[i] = static_cast<float>(value_of(in[i]));
    want_back[i] = bits_of(want[i] * 1.0003f);
  }
  check::Device<uint16_t> from(in), back(n);
  check::Device<float> wide(n);
  LAUNCH(convert, n / 256, 256, from.get(), wide.get(), back.get());
  EXPECT_SAME(wide.read(), want);
  EXPECT_SAME(back.read(), want_back);
}

// hsqrt, hexp and the like: within two units. (hsin of the 5.2 device library is NaN for all
// numbers.)
__global__ void functions(const __half *in, __half *out) {
  int i = threadIdx.x;
  __half v = in[i], *r = out + 5 * i;
  r[0] = hsqrt(v), r[1] = hexp(v), r[2] = hlog(v), r[3] = hrcp(v), r[4] = hrsqrt(v);
}

static void approximate_functions() {
  std::vector<uint16_t> in(256);
  check::Random random(9);
  for (auto &v : in) v = bits_of(random.real(0.01, 8));
  check::Device<uint16_t> from(in), to(5 * 256);
  LAUNCH(functions, 1, 256, reinterpret_cast<const __half *>(from.get()),
         reinterpret_cast<__half *>(to.get()));
  auto got = to.read();
  for (int i = 0; i < 256; ++i) {
    double v = value_of(in[i]);
    const double want[] = {std::sqrt(v), std::exp(v), std::log(v), 1 / v, 1 / std::sqrt(v)};
    for (int f = 0; f < 5; ++f) {
      double unit = std::fabs(value_of(static_cast<uint16_t>((bits_of(want[f]) & 0x7fff) + 1)) -
                              value_of(bits_of(want[f]) & 0x7fff));
      check::report(std::fabs(value_of(got[5 * i + f]) - want[f]) <= 2 * unit, __FILE__, __LINE__,
                    "function " + check::show(f) + " of " + check::show(v) + " is " +
                        check::show(value_of(got[5 * i + f])) + ", not " + check::show(want[f]));
    }
  }
}

int main() {
  scalar_operations();
  packed_operations();
  all_conversions();
  approximate_functions();
  return check::result();
}
