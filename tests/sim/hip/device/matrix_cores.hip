// Matrix instructions of gfx90a through the compiler's builtins, and dot products on both cards.
// The layout of operands is that of AMD's matrix instruction calculator: element (i, k) of A lies
// in lane i + m * (k / per lane), element (i, j) of the result of 16 x 16 in lane j + 16 * (i / 4 %
// 4).
#include "../check.h"

using f32x4 = __attribute__((ext_vector_type(4))) float;
using f32x16 = __attribute__((ext_vector_type(16))) float;
using f64x4 = __attribute__((ext_vector_type(4))) double;
using f16x4 = __attribute__((ext_vector_type(4))) _Float16;
using i16x4 = __attribute__((ext_vector_type(4))) short;
using i32x4 = __attribute__((ext_vector_type(4))) int;

#if defined(__gfx90a__)
#define MATRIX_CORES 1
#endif

// All numbers are small integers, so sums are exact in any order. a is m x k, b is k x n.
__global__ void f32_16x16x4(const float *a, const float *b, float *c) {
#ifdef MATRIX_CORES
  int lane = threadIdx.x, i = lane % 16, k = lane / 16;
  f32x4 sum = {1, 2, 3, 4};
  sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i * 4 + k], b[k * 16 + i], sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r) c[(k * 4 + r) * 16 + i] = sum[r];
#endif
}
__global__ void f64_16x16x4(const double *a, const double *b, double *c) {
#ifdef MATRIX_CORES
  int lane = threadIdx.x, i = lane % 16, k = lane / 16;
  f64x4 sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[i * 4 + k], b[k * 16 + i], sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r) c[(r * 4 + k) * 16 + i] = sum[r]; // rows of f64 lie 4 apart
#endif
}
__global__ void f16_32x32x8(const _Float16 *a, const _Float16 *b, float *c) {
#ifdef MATRIX_CORES
  int lane = threadIdx.x, i = lane % 32, part = lane / 32;
  f16x4 x, y;
  for (int e = 0; e < 4; ++e) x[e] = a[i * 8 + part * 4 + e], y[e] = b[(part * 4 + e) * 32 + i];
  f32x16 sum = {};
  sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
  for (int r = 0; r < 16; ++r) c[(r / 4 * 8 + part * 4 + r % 4) * 32 + i] = sum[r];
#endif
}
__global__ void bf16_16x16x16(const unsigned short *a, const unsigned short *b, float *c) {
#ifdef MATRIX_CORES
  int lane = threadIdx.x, i = lane % 16, part = lane / 16;
  i16x4 x, y;
  for (int e = 0; e < 4; ++e) x[e] = a[i * 16 + part * 4 + e], y[e] = b[(part * 4 + e) * 16 + i];
  f32x4 sum = {};
  sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r) c[(part * 4 + r) * 16 + i] = sum[r];
#endif
}
__global__ void i8_16x16x16(const int8_t *a, const int8_t *b, int *c) {
#ifdef MATRIX_CORES
  int lane = threadIdx.x, i = lane % 16, part = lane / 16;
  int x = 0, y = 0;
  for (int e = 0; e < 4; ++e) {
    x |= (a[i * 16 + part * 4 + e] & 255) << (8 * e);
    y |= (b[(part * 4 + e) * 16 + i] & 255) << (8 * e);
  }
  i32x4 sum = {};
  sum = __builtin_amdgcn_mfma_i32_16x16x16i8(x, y, sum, 0, 0, 0);
  for (int r = 0; r < 4; ++r) c[(part * 4 + r) * 16 + i] = sum[r];
#endif
}

static float of_bf16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
template <class T> double number(T v) { return static_cast<double>(v); }
double number(unsigned short v) { return of_bf16(v); }
template <class T> T coded(int v) { return static_cast<T>(v); }
template <> unsigned short coded(int v) {
  float f = static_cast<float>(v);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return static_cast<unsigned short>(bits >> 16);
}

template <class In, class Out>
static void multiplies(void (*kernel)(const In *, const In *, Out *), int m, int n, int k,
                       bool rows_added = false) {
  check::Random random(static_cast<uint64_t>(m * n + k));
  std::vector<In> a(m * k), b(k * n);
  for (auto &v : a) v = coded<In>(static_cast<int>(random.below(31)) - 15);
  for (auto &v : b) v = coded<In>(static_cast<int>(random.below(31)) - 15);
  std::vector<Out> want(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = rows_added ? i % 4 + 1 : 0;
      for (int e = 0; e < k; ++e) sum += number(a[i * k + e]) * number(b[e * n + j]);
      want[i * n + j] = static_cast<Out>(sum);
    }
  check::Device<In> x(a), y(b);
  check::Device<Out> z(m * n);
  LAUNCH(kernel, 1, 64, x.get(), y.get(), z.get());
  EXPECT_SAME(z.read(), want);
}

__global__ void dots(const int *a, const int *b, int *out) {
  int i = threadIdx.x;
  out[3 * i] = __builtin_amdgcn_sdot4(a[i], b[i], i, false);
  out[3 * i + 1] = static_cast<int>(__builtin_amdgcn_udot4(a[i], b[i], i, false));
  out[3 * i + 2] = __builtin_amdgcn_sdot8(a[i], b[i], i, true);
}

static void dot_products() {
  auto a = check::Random(8).bytes<int>(128), b = check::Random(9).bytes<int>(128);
  std::vector<int> want;
  for (int i = 0; i < 128; ++i) {
    int s4 = i, u4 = i, s8 = i;
    for (int e = 0; e < 4; ++e) {
      s4 += static_cast<int8_t>(a[i] >> 8 * e) * static_cast<int8_t>(b[i] >> 8 * e);
      u4 += static_cast<uint8_t>(a[i] >> 8 * e) * static_cast<uint8_t>(b[i] >> 8 * e);
    }
    for (int e = 0; e < 8; ++e) {
      auto nibble = [e](int v) {
        return static_cast<int>(static_cast<uint32_t>(v) << (28 - 4 * e)) >> 28;
      };
      s8 += nibble(a[i]) * nibble(b[i]);
    }
    want.insert(want.end(), {s4, u4, s8});
  }
  check::Device<int> x(a), y(b), z(want.size());
  LAUNCH(dots, 1, 128, x.get(), y.get(), z.get());
  EXPECT_SAME(z.read(), want);
}

int main() {
  if (check::architecture() == "gfx90a") {
    multiplies(f32_16x16x4, 16, 16, 4, true);
    multiplies(f64_16x16x4, 16, 16, 4);
    multiplies(f16_32x32x8, 32, 32, 8);
    multiplies(bf16_16x16x16, 16, 16, 16);
    multiplies(i8_16x16x16, 16, 16, 16);
  }
  dot_products();
  return check::result();
}
