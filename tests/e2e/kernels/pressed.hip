// Kernels for rules that make them faster: one with more values than registers, if its workgroups
// may be large, and one with a loop whose turns cost more than what they do.
#ifndef __global__
#define __global__ __attribute__((global))
#endif

__global__ void press(const float *in, float *out) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  float values[160];
#pragma unroll
  for (int k = 0; k < 160; ++k) values[k] = in[i + 64 * k];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 160; ++k) sum = sum * values[k] + values[(k * 7 + 80) % 160];
#pragma unroll
  for (int k = 0; k < 160; ++k) sum = sum * values[159 - k] + 1;
  out[i] = sum;
}

__global__ void follow(const int *in, int *out, int turns) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  int at = in[i];
  for (int k = 0; k < turns; ++k)
    at = at * 3 + k;
  out[i] = at;
}
