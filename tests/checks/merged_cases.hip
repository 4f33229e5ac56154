// Accesses of several lines that compilers make one instruction of: the finding is at the line of
// the byte that is wrong.
#include "cases.h"

namespace {

constexpr int n = 64;

__global__ void pairs_stored(float *out, float a, float b) {
  const int i = threadIdx.x;
  out[2 * i] = a * i;
  out[2 * i + 1] = b - i; // finds: memory
}

// The line of the instruction is that of the first load, or of the last store.
__global__ void quad_loaded(const float *in, float *out) {
  const int i = threadIdx.x;
  const float x = in[4 * i];
  const float y = in[4 * i + 1];
  const float z = in[4 * i + 2];
  const float w = in[4 * i + 3]; // finds: memory
  out[i] = x * y + z * w;
}

struct Body {
  float x, y, z, mass;
};

__global__ void members_loaded(const Body *in, float *out) {
  const int i = threadIdx.x;
  const float x = in[i].x;
  const float y = in[i].y;
  const float z = in[i].z;
  const float w = in[i].mass; // finds: memory
  out[i] = x * y + z * w;
}

__global__ void members_unwritten(const Body *in, float *out) {
  const int i = threadIdx.x;
  const float x = in[i].x;
  const float y = in[i].y;
  const float z = in[i].z; // finds: init
  const float w = in[i].mass;
  out[i] = x * y + z * w;
}

__global__ void members_set(Body *out, bool broken) {
  Body &b = out[threadIdx.x];
  b.x = 1;
  b.y = 2;
  if (!broken) b.z = 3;
  b.mass = 4;
}

__global__ void tile_pair(float *out, bool broken) {
  __shared__ float tile[512];
  const int i = threadIdx.x;
  tile[i] = i;
  tile[i + 64] = 2 * i;
  if (!broken) tile[i + 128] = 3 * i;
  __syncthreads();
  const float a = tile[127 - i];
  const float b = tile[191 - i]; // finds: init
  out[i] = a * b;
}

// Places with names, as generated code has them.
__global__ void named(float *out, int from, float a, float b) {
  const int first = from + 3 * threadIdx.x;
  const int second = first + 1, third = first + 2;
  const float u = a * threadIdx.x;
  const float v = b * threadIdx.x;
  out[first] = u;
  out[second] = v; // finds: memory
  out[third] = 2; // may: memory
}

// One wave's last element is the first of the next one.
__global__ void meet(float *out, float a, int step) {
  const int i = threadIdx.x / 64 * step;
  if (threadIdx.x % 64 != 0) return;
  out[i] = a; // finds: race
  out[i + 1] = a + i;
  out[i + 2] = a - 3; // finds: race
}

// Pairs in LDS, next to each other or not. Of two elements one races, on either side.
template <bool broken> __global__ void far_pair_stored(const int *in, int *out) {
  __shared__ int s[1024];
  const int t = threadIdx.x;
  const int a = in[t], b = in[t + 1];
  s[t] = a;
  s[t + 512] = b; // finds: race
  if (!broken) __syncthreads();
  out[t] = s[512 + 255 - t]; // finds: race
}

template <bool broken> __global__ void odd_pair_stored(const int *in, int *out) {
  __shared__ int s[2048];
  const int t = threadIdx.x;
  const int a = in[t], b = in[t + 1];
  s[t * 8] = a;
  s[t * 8 + 3] = b; // finds: race
  if (!broken) __syncthreads();
  out[t] = s[(255 - t) * 8 + 3]; // finds: race
}

template <bool broken> __global__ void odd_pair_loaded(const int *in, int *out) {
  __shared__ int s[2048];
  const int t = threadIdx.x;
  s[t * 8] = in[t];
  s[t * 8 + 5] = 1;
  __syncthreads();
  if (broken) s[((t + 64) & 255) * 8 + 5] = in[t + 1]; // finds: race
  const int a = s[t * 8];
  const int b = s[t * 8 + 5]; // finds: race
  out[t] = a * b;
}

template <bool broken> __global__ void far_pair_loaded(const double *in, double *out) {
  __shared__ double s[512];
  const int t = threadIdx.x;
  s[t] = in[t];
  s[t + 256] = 1;
  __syncthreads();
  if (broken) s[((t + 64) & 255) + 256] = in[t + 1]; // finds: race
  const double a = s[t];
  const double b = s[t + 256]; // finds: race
  out[t] = a * b;
}

template <bool broken> void pairs() {
  Device<int> in(512), out(512);
  Device<double> wide(512), wide_out(512);
  std::vector<int> host(512);
  for (int i = 0; i < 512; ++i) host[i] = i * 37;
  HIP(hipMemcpy(in.data, host.data(), 2048, hipMemcpyHostToDevice));
  HIP(hipMemcpy(wide.data, host.data(), 2048, hipMemcpyHostToDevice));
  far_pair_stored<broken><<<1, 256>>>(in.data, out.data);
  odd_pair_stored<broken><<<1, 256>>>(in.data, out.data);
  odd_pair_loaded<broken><<<1, 256>>>(in.data, out.data);
  far_pair_loaded<broken><<<1, 256>>>(wide.data, wide_out.data);
  finish();
}

} // namespace

int main(int, char **argv) {
  const bool broken = std::string(argv[1]) == "broken";
  const size_t less = broken ? 1 : 0;
  Device<float> out(1024);
  {
    Device<float> in(2 * n - less);
    pairs_stored<<<1, n>>>(in.data, 1, 2);
    finish();
  }
  {
    Device<float> in(4 * n - less);
    quad_loaded<<<1, n>>>(in.data, out.data);
    members_loaded<<<1, n>>>(reinterpret_cast<const Body *>(in.data), out.data);
    finish();
  }
  {
    Device<Body> bodies(n, false);
    members_set<<<1, n>>>(bodies.data, broken);
    members_unwritten<<<1, n>>>(bodies.data, out.data);
    finish();
  }
  tile_pair<<<1, n>>>(out.data, broken);
  {
    Device<float> places(3 * n - 2 * less);
    named<<<1, n>>>(places.data, 0, 1, 2);
    finish();
  }
  meet<<<1, 128>>>(out.data, 1, broken ? 2 : 3);
  finish();
  broken ? pairs<true>() : pairs<false>();
  std::puts("done");
  return 5;
}
