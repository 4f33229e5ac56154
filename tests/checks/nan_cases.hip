// Kernels that produce a NaN or an infinity, and twins that produce none, or keep none.
#include "cases.h"

#include <hip/hip_fp16.h>

#include <cmath>

// clang-format off

#define CASE(name, arguments) template <bool broken> __global__ void name arguments

// The mean of nothing: 0 / 0.
CASE(mean, (float *out, const float *in, const int *counts)) {
  float sum = 0;
  const int n = counts[threadIdx.x] * (threadIdx.x != 3 || !broken);
  for (int i = 0; i < n; i++) sum += in[i];
  out[threadIdx.x] = sum / (float)n; // finds: nan says: of 0, 0
}

// The result is used a few lines later; it is produced here.
CASE(root, (float *out, const float *in)) {
  const float x = in[threadIdx.x] - (broken ? 2.0f : 0.0f);
  const float r = __builtin_amdgcn_rsqf(x); // finds: nan says: v_rsq_f32 of -1
  const float twice = r * 2.0f;
  out[threadIdx.x] = twice + 1.0f;
}

// Two infinities that were wanted make a NaN.
CASE(difference, (float *out, const float *limits)) {
  const float low = limits[threadIdx.x / 64], high = broken ? low : 1.0f;
  out[threadIdx.x] = low - high; // finds: nan says: NaN produced by
}

// Both sides of a division are NaN: the one that came first is the cause.
CASE(softmax, (float *out, const float *in, int n)) {
  float most = -INFINITY, sum = 1;
  for (int i = 0; i < n; i++) most = fmaxf(most, in[i] * 1.0f);
  for (int i = 0; i < n; i++)
    sum += in[i] - most; // finds: nan says: NaN produced by
  for (int i = 0; i < n; i++) {
    asm volatile("" : "+v"(most));
    out[threadIdx.x] = (in[i] - most) / sum;
  }
}

// Through LDS: stored by one lane, read by another.
CASE(through_lds, (float *out, const float *in)) {
  __shared__ float row[64];
  const float x = in[threadIdx.x] * (broken ? 3e38f : 1.0f);
  row[threadIdx.x] = x * 10.0f; // finds: nan says: infinity produced by
  __syncthreads();
  out[threadIdx.x] = row[63 - threadIdx.x];
}

// Through private memory, as all that is compiled without optimization.
CASE(through_private, (float *out, const float *in)) {
  volatile float kept[4];
  const float x = in[threadIdx.x] * (broken ? 3e38f : 1.0f);
  kept[threadIdx.x & 3] = x * 10.0f; // finds: nan says: infinity produced by
  out[threadIdx.x] = kept[threadIdx.x & 3];
}

CASE(doubles, (double *out, const double *in)) {
  const double x = in[threadIdx.x] * (broken ? 1e308 : 1.0);
  out[threadIdx.x] = x * 100.0; // finds: nan says: v_mul_f64
}

CASE(halves, (__half2 *out, const __half2 *in)) {
  const __half2 x = in[threadIdx.x];
  out[threadIdx.x] = broken ? __hmul2(x, __float2half2_rn(60000.0f)) : __hmul2(x, x); // finds: nan says: v_pk_mul_f16
}

CASE(narrow, (__half *out, const float *in)) {
  out[threadIdx.x] = __float2half(in[threadIdx.x]); // finds: precision says: v_cvt_f16_f32 of 1e+06
}

// Compilers make one instruction of the product and the conversion.
CASE(scaled, (__half *out, const float *in)) {
  out[threadIdx.x] = __float2half(in[threadIdx.x] * (broken ? 1e6f : 2.0f)); // finds: precision
}

// Born, and not selected: no lane stores it.
CASE(masked, (float *out, const float *in)) {
  const float x = in[threadIdx.x] - 1.0f;
  const float r = __builtin_amdgcn_rcpf(x);
  out[threadIdx.x] = x == 0.0f ? 0.0f : r;
}

// Constants, and what was there before.
CASE(wanted, (float *out, const float *limits)) {
  float least = INFINITY;
  for (unsigned i = 0; i < (threadIdx.x & 1); i++) least = fminf(least, 1.0f);
  out[threadIdx.x] = least;
  out[64 + threadIdx.x] = limits[threadIdx.x & 1] * 2.0f;
}

// Integers divide with reciprocals of floats.
CASE(integers, (int *out, const int *in, int by)) {
  out[threadIdx.x] = in[threadIdx.x] / by + in[threadIdx.x] % by;
}

// Born in one lane, handed to the next by DPP.
CASE(through_dpp, (float *out, const float *in)) {
  const float x = in[threadIdx.x] * (broken ? 3e38f : 1.0f);
  const float large = x * 10.0f; // finds: nan says: infinity produced by v_mul_f32
  const int moved = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, large), 0xb1, 0xf, 0xf, false);
  out[threadIdx.x] = __builtin_bit_cast(float, moved);
}

// Through a scalar register: the value of the first lane.
CASE(through_scalar, (float *out, const float *in)) {
  const float x = in[threadIdx.x] * (broken ? 3e38f : 1.0f);
  const float large = x * 10.0f; // finds: nan says: infinity produced by v_mul_f32
  const int first = __builtin_amdgcn_readfirstlane(__builtin_bit_cast(int, large));
  out[threadIdx.x] = __builtin_bit_cast(float, first);
}

// The sum of an atomic: what is added is produced before it.
CASE(added, (float *out, const float *in)) {
  const float x = in[threadIdx.x] - (broken ? 2.0f : 0.0f);
  const float root = __builtin_amdgcn_sqrtf(x); // finds: nan says: v_sqrt_f32 of -1
  atomicAdd(out, root);
}

// A matrix instruction whose sum is too large, and one of bf16.
CASE(matrix, (float *out, const float *in)) {
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  typedef float Sums __attribute__((ext_vector_type(4)));
  const float x = in[threadIdx.x] * (broken ? 1e38f : 1.0f);
  Sums sums{};
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(x, x, sums, 0, 0, 0); // finds: nan on gfx9 says: infinity produced by v_mfma_f32_16x16x4
  out[threadIdx.x] = sums[0];
#endif
}
CASE(narrow_matrix, (float *out, const float *in)) {
#if defined(__gfx908__)
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x8bf16
  typedef short Brains __attribute__((ext_vector_type(2)));
#else
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x16bf16_1k
  typedef short Brains __attribute__((ext_vector_type(4)));
#endif
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  typedef float Sums __attribute__((ext_vector_type(4)));
  const short one = __builtin_bit_cast(int, in[threadIdx.x] * (broken ? 1e38f : 1.0f)) >> 16;
  Sums sums{};
  const Brains ones = one;
  sums = MULTIPLY(ones, ones, sums, 0, 0, 0); // finds: nan on gfx9 says: infinity produced by v_mfma_f32_16x16x
  out[threadIdx.x] = sums[0];
#endif
}

// Denormals are kept, as HIP compiles without options.
CASE(denormals, (float *out, const float *in, float by)) { out[threadIdx.x] = in[threadIdx.x] * by; }

// Library functions select constants where an operand is out of range.
CASE(power, (float *out, const float *in)) {
  const float x = in[threadIdx.x] - (broken ? 2.0f : 0.0f);
  out[threadIdx.x] = powf(x, 1.5f); // finds: nan says: NaN returned by
}
CASE(logarithm, (double *out, const double *in)) {
  const double x = in[threadIdx.x] - (broken ? 2.0 : 0.0);
  out[threadIdx.x] = log(x); // finds: nan says: NaN returned by
}
// Negated, and its magnitude: operations on bits.
CASE(crossed, (float *out, const float *in)) {
  const float x = in[threadIdx.x] - (broken ? in[0] : 0.0f);
  out[threadIdx.x] = -logf(x); // finds: nan says: infinity produced by v_log_f32 of 0
}
CASE(magnitude, (double *out, const double *in)) {
  const double x = in[threadIdx.x] - (broken ? in[0] : 0.0);
  const double inverse = 1.0 / x;    // finds: nan
  out[threadIdx.x] = -fabs(inverse);
}
CASE(hyperbolic, (float *out, const float *in)) {
  const float x = in[threadIdx.x] * (broken ? 1000.0f : 1.0f);
  out[threadIdx.x] = sinhf(x); // finds: nan says: infinity returned by
}
// What was infinite or NaN before goes in, and comes out. Within, infinities are subtracted.
CASE(through_functions, (float *out, const float *limits)) {
  const float x = limits[threadIdx.x & 1];
  out[threadIdx.x] = expf(x) + powf(x, 2.0f);
  out[64 + threadIdx.x] = sinhf(x);
}
// Constants of the program itself, by what it has compared.
CASE(chosen, (float *out, const float *in)) { out[threadIdx.x] = in[threadIdx.x] < 2.0f ? INFINITY : NAN; }

template <bool broken> void run() {
  std::vector<float> ones(64, 1.0f), limits{INFINITY, NAN};
  std::vector<double> doubles_in(64, 1.0);
  std::vector<int> counts(64, 2);
  std::vector<__half2> halves_in(64, __float2half2_rn(2.0f));
  Device<float> in(64), out(128), limit(2), large(64);
  const std::vector<float> millions(64, 1e6f);
  HIP(hipMemcpy(large.data, millions.data(), 256, hipMemcpyHostToDevice));
  Device<double> wide(64), wide_out(64);
  Device<int> numbers(64), number_out(64);
  Device<__half2> half_in(64), half_out(64);
  HIP(hipMemcpy(in.data, ones.data(), 256, hipMemcpyHostToDevice));
  const std::vector<float> masked_all(2, -INFINITY);
  Device<float> masked_in(2);
  HIP(hipMemcpy(masked_in.data, masked_all.data(), 8, hipMemcpyHostToDevice));
  HIP(hipMemcpy(limit.data, limits.data(), 8, hipMemcpyHostToDevice));
  HIP(hipMemcpy(wide.data, doubles_in.data(), 512, hipMemcpyHostToDevice));
  HIP(hipMemcpy(numbers.data, counts.data(), 256, hipMemcpyHostToDevice));
  HIP(hipMemcpy(half_in.data, halves_in.data(), 256, hipMemcpyHostToDevice));
  mean<broken><<<1, 64>>>(out.data, in.data, numbers.data);
  root<broken><<<1, 64>>>(out.data, in.data);
  difference<broken><<<1, 64>>>(out.data, limit.data);
  softmax<broken><<<1, 64>>>(out.data, broken ? masked_in.data : in.data, 2);
  through_lds<broken><<<1, 64>>>(out.data, in.data);
  through_private<broken><<<1, 64>>>(out.data, in.data);
  doubles<broken><<<1, 64>>>(wide_out.data, wide.data);
  halves<broken><<<1, 64>>>(half_out.data, half_in.data);
  narrow<broken><<<1, 64>>>((__half *)half_out.data, broken ? large.data : in.data);
  scaled<broken><<<1, 64>>>((__half *)half_out.data, in.data);
  through_dpp<broken><<<1, 64>>>(out.data, in.data);
  through_scalar<broken><<<1, 64>>>(out.data, in.data);
  HIP(hipMemset(out.data, 0, 512));
  added<broken><<<1, 64>>>(out.data, in.data);
  matrix<broken><<<1, 64>>>(out.data, in.data);
  narrow_matrix<broken><<<1, 64>>>(out.data, in.data);
  denormals<broken><<<1, 64>>>(out.data, in.data, 1e-40f);
  masked<broken><<<1, 64>>>(out.data, in.data);
  wanted<broken><<<1, 64>>>(out.data, limit.data);
  integers<broken><<<1, 64>>>(number_out.data, numbers.data, 3);
  power<broken><<<1, 64>>>(out.data, in.data);
  logarithm<broken><<<1, 64>>>(wide_out.data, wide.data);
  crossed<broken><<<1, 64>>>(out.data, in.data);
  magnitude<broken><<<1, 64>>>(wide_out.data, wide.data);
  hyperbolic<broken><<<1, 64>>>(out.data, in.data);
  through_functions<broken><<<1, 64>>>(out.data, limit.data);
  chosen<broken><<<1, 64>>>(out.data, in.data);
  finish();
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  std::strcmp(argv[1], "broken") == 0 ? run<true>() : run<false>();
  std::printf("done\n");
  return 5;
}
