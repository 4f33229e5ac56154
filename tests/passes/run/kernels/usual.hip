// Kernels as people write them: tiles, reductions, stencils, sums of rows. What the compiler makes
// of their accesses is compared with what the twin records. Each has the same arguments, and 256
// work-items in workgroups of 64.
#include "device.h"

#define USUAL(name) KERNEL name(const float *in, const int *idx, float *out)

template <int PITCH> __device__ inline void readPairs(const float *in, float *out) {
  __shared__ float t[64 * PITCH];
  const int i = localId();
  for (int k = 0; k < PITCH; ++k) t[k * 64 + i] = in[k * 64 + i];
  barrier();
  out[globalId()] = t[i * PITCH] + t[i * PITCH + 1];
}
USUAL(pairs_32) { readPairs<32>(in, out); }
USUAL(pairs_33) { readPairs<33>(in, out); }
USUAL(pairs_34) { readPairs<34>(in, out); }

USUAL(write_pairs) {
  __shared__ float t[64 * 33];
  const int i = localId();
  t[i * 33] = in[2 * i];
  t[i * 33 + 1] = in[2 * i + 1];
  barrier();
  out[globalId()] = t[(63 - i) * 33] + t[idx[i] % 64 * 33 + 1];
}

USUAL(rows_of_four) {
  __shared__ float t[64 * 36 + 4];
  const int i = localId();
  for (int k = 0; k < 36; ++k) t[k * 64 + i] = in[k * 64 + i];
  barrier();
  float s = 0;
  for (int k = 0; k < 8; ++k) s += t[i * 36 + k] * t[i * 35 + k + 4];
  out[globalId()] = s;
}

USUAL(doubles_in_lds) {
  __shared__ double t[64 * 9];
  const int i = localId();
  for (int k = 0; k < 9; ++k) t[k * 64 + i] = in[k * 64 + i];
  barrier();
  double s = 0;
  for (int j = 0; j < 8; ++j) s += t[i * 9 + j];
  double *v = t + idx[i] % 64;
  s += v[0] * v[1];
  out[globalId()] = float(s);
}

USUAL(wide_tile) {
  typedef float float4 __attribute__((ext_vector_type(4)));
  __shared__ float4 t[64 * 3];
  const int i = localId();
  const float4 *from = reinterpret_cast<const float4 *>(in);
  t[i * 3] = from[i];
  t[i * 3 + 1] = from[i + 64];
  t[i * 3 + 2] = from[i + 128];
  barrier();
  float4 s = t[(i ^ 1) * 3] + t[(i ^ 2) * 3 + 1] * t[idx[i] % 192];
  out[globalId()] = s.x + s.y + s.z + s.w;
}

struct Point {
  float x, y, z;
};
USUAL(points_in_lds) {
  __shared__ Point t[65];
  const int i = localId();
  const Point *from = reinterpret_cast<const Point *>(in);
  t[i] = from[i];
  barrier();
  const Point a = t[i ^ 1], b = t[idx[i] % 64];
  out[globalId()] = a.x * b.x + a.y * b.y + a.z * b.z;
}

extern __shared__ float dynamic[];
USUAL(dynamic_pairs) {
  const int i = localId();
  for (int k = 0; k < 4; ++k) dynamic[k * 64 + i] = in[k * 64 + i];
  barrier();
  float s = dynamic[2 * i] + dynamic[2 * i + 1];
  const double *wide = reinterpret_cast<const double *>(dynamic);
  out[globalId()] = s + float(wide[64 + i]) + float(wide[127 - i]);
}

USUAL(tile_product) { // 8 x 8 of a product, with a column more in one tile
  __shared__ float a[8][9], b[8][8];
  const int x = localId() % 8, y = localId() / 8;
  float s = 0;
  for (int tile = 0; tile < 4; ++tile) {
    a[y][x] = in[y * 32 + tile * 8 + x];
    b[y][x] = in[1024 + (tile * 8 + y) * 32 + x];
    barrier();
    for (int k = 0; k < 8; ++k) s += a[y][k] * b[k][x];
    barrier();
  }
  out[globalId()] = s;
}

USUAL(tile_product_transposed) {
  __shared__ float a[8][9], b[8][9];
  const int x = localId() % 8, y = localId() / 8;
  float s = 0;
  for (int tile = 0; tile < 4; ++tile) {
    a[y][x] = in[y * 32 + tile * 8 + x];
    b[y][x] = in[1024 + y * 32 + tile * 8 + x];
    barrier();
    for (int k = 0; k < 8; ++k) s += a[y][k] * b[x][k];
    barrier();
  }
  out[globalId()] = s;
}

USUAL(tree) {
  __shared__ float s[64];
  const int i = localId();
  s[i] = in[globalId()];
  barrier();
  for (int n = 32; n > 2; n /= 2) {
    if (i < n) s[i] += s[i + n];
    barrier();
  }
  if (i == 0) out[groupId()] = s[0] + s[1] + s[2] + s[3];
}

USUAL(constant_places) {
  __shared__ float s[16];
  __shared__ float odd[5];
  const int i = localId();
  if (i < 16) s[i] = in[i];
  if (i < 5) odd[i] = in[i + 16];
  barrier();
  out[globalId()] = s[1] * s[2] + s[3] * s[4] + s[8] + s[9] + s[10] + s[11] + odd[0] + odd[1] +
                    odd[2] + odd[3] + odd[4];
}

USUAL(stencil) {
  __shared__ float s[64 * 3 + 2];
  const int i = localId();
  for (int k = 0; k < 3; ++k) s[k * 64 + i + 1] = in[k * 64 + i];
  if (i == 0) s[0] = s[193] = 0;
  barrier();
  out[globalId()] = s[i] + s[i + 1] + s[i + 2] + s[i + 64] + s[i + 128];
}

USUAL(row_softmax) { // a row of 16 for each lane
  const float *row = in + globalId() * 16;
  float most = row[0], sum = 0;
  for (int k = 1; k < 16; ++k) most = row[k] > most ? row[k] : most;
  for (int k = 0; k < 16; ++k) sum += row[k] - most;
  for (int k = 0; k < 16; ++k) out[globalId() * 16 + k] = (row[k] - most) * sum;
}

USUAL(lds_histogram) {
  __shared__ int bins[64];
  const int i = localId();
  bins[i] = 0;
  barrier();
  for (int k = 0; k < 4; ++k)
    __atomic_fetch_add(&bins[idx[k * 64 + i] % 64], 1, __ATOMIC_RELAXED);
  barrier();
  __atomic_fetch_add(reinterpret_cast<int *>(out) + i, bins[i], __ATOMIC_RELAXED);
}

USUAL(coefficients) { // of a filter, the same for all lanes
  float s = 0;
  for (int k = 0; k < 8; ++k) s += in[k] * in[64 + globalId() + k];
  out[globalId()] = s;
}

USUAL(coefficients_written) { // which the kernel may change
  float s = 0;
  for (int k = 0; k < 4; ++k) {
    s += out[k] * in[64 + globalId() + k];
    out[1024 + k * 256 + globalId()] = s;
  }
}

USUAL(running_sum) { // whose store the compiler may take out of the loop
  out[globalId()] = 0;
  for (int k = 0; k < idx[0] % 7 + 2; ++k) out[globalId()] += in[k * 256 + globalId()];
}

USUAL(either_way) { // a store on each way
  const float v = in[globalId()];
  if (idx[globalId()] % 2)
    out[globalId()] = v * 2;
  else
    out[globalId()] = v + 1;
}

USUAL(butterflies) {
  typedef float float2 __attribute__((ext_vector_type(2)));
  __shared__ float2 t[128];
  const int i = localId();
  const float2 *from = reinterpret_cast<const float2 *>(in);
  t[i] = from[i];
  t[i + 64] = from[i + 64];
  barrier();
  for (int n = 1; n < 64; n *= 4) {
    const int at = i / n * 2 * n + i % n;
    const float2 a = t[at], b = t[at + n];
    barrier();
    t[at] = a + b;
    t[at + n] = a - b;
    barrier();
  }
  reinterpret_cast<float2 *>(out)[globalId()] = t[i] + t[i + 64];
}

USUAL(shorts_in_lds) {
  __shared__ short s[132];
  __shared__ unsigned char c[68];
  const int i = localId();
  s[2 * i] = short(idx[i]);
  s[2 * i + 1] = short(idx[i + 64]);
  c[i] = (unsigned char)(idx[i]);
  barrier();
  out[globalId()] = float(s[i] + s[i + 1] + c[i] + c[i + 1] + c[i + 2]);
}

USUAL(bitonic) {
  __shared__ float s[64];
  const int i = localId();
  s[i] = in[globalId()];
  for (int size = 2; size <= 64; size *= 2)
    for (int apart = size / 2; apart > 0; apart /= 2) {
      barrier();
      const int other = i ^ apart;
      if (other > i) {
        const bool up = (i & size) == 0;
        const float a = s[i], b = s[other];
        if ((a > b) == up) s[i] = b, s[other] = a;
      }
    }
  barrier();
  out[globalId()] = s[i];
}

USUAL(sparse_rows) {
  const int from = idx[globalId()] % 64, to = from + idx[globalId() + 1] % 5;
  float s = 0;
  for (int k = from; k < to; ++k) s += in[idx[k] % 4096];
  out[globalId()] = s;
}

struct Particle {
  float x, y, z, mass, speed;
};
USUAL(particles) {
  const Particle *p = reinterpret_cast<const Particle *>(in);
  Particle *q = reinterpret_cast<Particle *>(out);
  const Particle a = p[globalId()];
  q[globalId()].x = a.x + a.speed;
  q[globalId()].z = a.z * a.mass;
}

USUAL(double_additions) { // a loop where the GPU has no such instruction
  __shared__ double sums[16];
  const int i = localId();
  if (i < 16) sums[i] = 0;
  barrier();
  __atomic_fetch_add(&sums[i / 32 * 8 + i % 8], double(in[globalId()]), __ATOMIC_RELAXED);
  barrier();
  if (i < 16) out[groupId() * 16 + i] = float(sums[i]);
}

USUAL(float_maxima) {
  // No two waves meet: which of them has to try again depends on time.
  __shared__ float most[32];
  const int i = localId();
  if (i < 32) most[i] = 0;
  barrier();
  __hip_atomic_fetch_max(&most[i / 32 * 16 + i % 16], in[globalId()], __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (i < 32)
    __hip_atomic_fetch_max(&out[groupId() * 32 + i], most[i], __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
}

USUAL(float_additions) {
  const int i = globalId();
  __hip_atomic_fetch_add(&out[i], in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(reinterpret_cast<double *>(out + 2048) + i, double(in[i]),
                         __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
