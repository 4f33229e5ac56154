// Rounding and denormals as a kernel sets them in the MODE register, against the host's own modes.
#include "../check.h"

#include <cfenv>
#include <cmath>

constexpr int count = 4096;

__global__ void round_with(const float *a, const float *b, const double *c, const double *d,
                           float *single, double *wide, int mode) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = a[i], y = b[i];
  const double u = c[i], v = d[i];
  const int number = 0x7ffffff0 - i * 1234567;
  float sum, product, fused, narrowed, converted;
  double wide_sum, wide_product, wide_fused;
  asm volatile("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), %0" ::"s"(
      __builtin_amdgcn_readfirstlane(mode | mode << 2)));
  asm volatile("v_add_f32 %0, %1, %2" : "=v"(sum) : "v"(x), "v"(y));
  asm volatile("v_mul_f32 %0, %1, %2" : "=v"(product) : "v"(x), "v"(y));
  asm volatile("v_fma_f32 %0, %1, %2, %1" : "=v"(fused) : "v"(x), "v"(y));
  asm volatile("v_cvt_f32_f64 %0, %1" : "=v"(narrowed) : "v"(u));
  asm volatile("v_cvt_f32_i32 %0, %1" : "=v"(converted) : "v"(number));
  asm volatile("v_add_f64 %0, %1, %2" : "=v"(wide_sum) : "v"(u), "v"(v));
  asm volatile("v_mul_f64 %0, %1, %2" : "=v"(wide_product) : "v"(u), "v"(v));
  asm volatile("v_fma_f64 %0, %1, %2, %1" : "=v"(wide_fused) : "v"(u), "v"(v));
  asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0");
  const float singles[] = {sum, product, fused, narrowed, converted};
  for (int k = 0; k < 5; ++k) single[k * count + i] = singles[k];
  const double doubles[] = {wide_sum, wide_product, wide_fused};
  for (int k = 0; k < 3; ++k) wide[k * count + i] = doubles[k];
}

static void rounding() {
  check::Random random(17);
  auto magnitude = [&](int low, int high) {
    return std::ldexp(random.real(-2, 2), low + static_cast<int>(random.below(high - low)));
  };
  std::vector<float> a(count), b(count);
  std::vector<double> c(count), d(count);
  for (int i = 0; i < count; ++i) {
    a[i] = magnitude(-20, 20), b[i] = magnitude(-20, 20);
    c[i] = magnitude(-45, 45), d[i] = magnitude(-45, 45);
    if (i % 31 == 0) a[i] = magnitude(-100, -99), b[i] = magnitude(-40, -39); // denormal products
    if (i % 37 == 0) c[i] = magnitude(-1000, -999), d[i] = magnitude(-50, -49);
    if (i % 41 == 0) a[i] = magnitude(126, 127), b[i] = magnitude(9, 10); // too large
    if (i % 43 == 0) c[i] = magnitude(-140, -139);                        // denormal as a float
  }
  check::Device<float> da(a), db(b), single(5 * count);
  check::Device<double> dc(c), dd(d), wide(3 * count);
  const int host_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int mode = 0; mode < 4; ++mode) {
    LAUNCH(round_with, count / 256, 256, da.get(), db.get(), dc.get(), dd.get(), single.get(),
           wide.get(), mode);
    const auto got = single.read();
    const auto got_wide = wide.read();
    std::vector<float> want(5 * count);
    std::vector<double> want_wide(3 * count);
    std::fesetround(host_modes[mode]);
    for (int i = 0; i < count; ++i) {
      volatile float x = a[i], y = b[i];
      volatile double u = c[i], v = d[i];
      volatile int number = 0x7ffffff0 - i * 1234567;
      want[i] = x + y, want[count + i] = x * y, want[2 * count + i] = std::fma(x, y, x);
      want[3 * count + i] = static_cast<float>(u), want[4 * count + i] = static_cast<float>(number);
      want_wide[i] = u + v, want_wide[count + i] = u * v;
      want_wide[2 * count + i] = std::fma(u, v, u);
    }
    std::fesetround(FE_TONEAREST);
    EXPECT_SAME(got, want);
    EXPECT_SAME(got_wide, want_wide);
  }
}

// Bit 0 of the mode keeps denormals that come in, bit 1 those that go out.
__global__ void denormals_with(const float *in, float *out, int mode) {
  const int i = threadIdx.x;
  const float x = in[i];
  float half, twice, kept;
  asm volatile(
      "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), %0" ::"s"(__builtin_amdgcn_readfirstlane(mode)));
  asm volatile("v_mul_f32 %0, 0.5, %1" : "=v"(half) : "v"(x));
  asm volatile("v_add_f32 %0, %1, %1" : "=v"(twice) : "v"(x));
  asm volatile("v_max_f32 %0, %1, %1" : "=v"(kept) : "v"(x));
  asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3");
  out[i] = half, out[256 + i] = twice, out[512 + i] = kept;
}

static void denormals() {
  std::vector<float> in(256);
  for (int i = 0; i < 256; ++i) in[i] = std::ldexp(i % 2 ? -1.5f : 1.25f, -100 - i % 50);
  check::Device<float> from(in), to(768);
  auto flushed = [](float v) {
    return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.f, v) : v;
  };
  for (int mode = 0; mode < 4; ++mode) {
    LAUNCH(denormals_with, 1, 256, from.get(), to.get(), mode);
    std::vector<float> want(768);
    for (int i = 0; i < 256; ++i) {
      const float x = mode & 1 ? in[i] : flushed(in[i]);
      const float results[] = {0.5f * x, x + x, x};
      for (int k = 0; k < 3; ++k) want[256 * k + i] = mode & 2 ? results[k] : flushed(results[k]);
    }
    EXPECT_SAME(to.read(), want);
  }
}

int main() {
  rounding();
  denormals();
  return check::result();
}
