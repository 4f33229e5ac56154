// Denormals that are flushed to 0: compiled with -fgpu-flush-denormals-to-zero.
#include "cases.h"

#define CASE(name, parameters) template <bool broken> __global__ void name parameters

namespace {

CASE(product, (float *out, const float *in, float by)) {
  out[threadIdx.x] = in[threadIdx.x] * by; // finds: precision says: denormal result of v_mul_f32
}
CASE(difference, (float *out, const float *in, float other)) {
  out[threadIdx.x] = in[threadIdx.x] - other; // finds: precision says: denormal result of v_sub
}
// The operand is denormal, the result would not be.
CASE(scaled, (float *out, const float *in, float by)) {
  const float large = in[threadIdx.x] * by; // finds: precision
  out[threadIdx.x] = large;
}
CASE(narrowed, (float *out, const double *in)) {
  out[threadIdx.x] = static_cast<float>(in[threadIdx.x]); // finds: precision says: v_cvt_f32_f64
}
CASE(through_lds, (float *out, const float *in, float by)) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x] * by; // finds: precision
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// Not kept: another 0 is selected, or it is only a part of a sum.
CASE(selected, (float *out, const float *in, float by, int from)) {
  const float small = in[threadIdx.x] * by;
  out[threadIdx.x] = static_cast<int>(threadIdx.x) >= from ? small : 0.0f;
}
CASE(part, (float *out, const float *in, float by)) {
  out[threadIdx.x] = in[threadIdx.x] * by + 1.0f;
}
// No float holds it, denormal or not; zeros are zeros.
CASE(vanished, (float *out, const float *in, float by)) {
  out[threadIdx.x] = in[threadIdx.x] * by;
}
CASE(zeros, (float *out, const float *in, float by)) {
  const float x = in[threadIdx.x];
  out[threadIdx.x] = x * by + (x - x) + fmaxf(x, 0.0f);
}
// A negative result is clamped.
CASE(clamped, (float *out, const float *in, float by)) {
  out[threadIdx.x] = fminf(fmaxf(in[threadIdx.x] - by, 0.0f), 1.0f);
}

template <bool broken> void run() {
  const std::vector<float> small(64, 1e-20f), denormal(64, 1e-40f), normal(64, 1.5e-38f);
  const std::vector<double> wide(64, broken ? 1e-40 : 1e-30);
  Device<float> in(64), out(64), tiny(64), near_limit(64), nothing(64);
  Device<double> doubles(64);
  HIP(hipMemcpy(in.data, small.data(), 256, hipMemcpyHostToDevice));
  HIP(hipMemcpy(tiny.data, denormal.data(), 256, hipMemcpyHostToDevice));
  HIP(hipMemcpy(near_limit.data, normal.data(), 256, hipMemcpyHostToDevice));
  HIP(hipMemcpy(doubles.data, wide.data(), 512, hipMemcpyHostToDevice));
  HIP(hipMemset(nothing.data, 0, 256));
  product<broken><<<1, 64>>>(out.data, in.data, broken ? 1e-20f : 1e-10f);
  difference<broken><<<1, 64>>>(out.data, near_limit.data, broken ? 1.4e-38f : -1.4e-38f);
  scaled<broken><<<1, 64>>>(out.data, broken ? tiny.data : in.data, 1e10f);
  narrowed<broken><<<1, 64>>>(out.data, doubles.data);
  through_lds<broken><<<1, 64>>>(out.data, in.data, broken ? 1e-20f : 1e-10f);
  selected<broken><<<1, 64>>>(out.data, in.data, 1e-20f, 64);
  part<broken><<<1, 64>>>(out.data, in.data, 1e-20f);
  vanished<broken><<<1, 64>>>(out.data, in.data, 1e-30f);
  zeros<broken><<<1, 64>>>(out.data, nothing.data, 1e-30f);
  clamped<broken><<<1, 64>>>(out.data, in.data, 1.0f);
  finish();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  std::strcmp(argv[1], "broken") == 0 ? run<true>() : run<false>();
  std::printf("done\n");
  return 5;
}
