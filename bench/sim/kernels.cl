// Loops for the speed of the software GPU: each repeats one kind of work.
__kernel void alu(__global uint *out, uint n) {
  uint a = get_global_id(0), b = a ^ 0x9e3779b9u, c = 1, d = 7;
  for (uint i = 0; i < n; i++) {
    a += b ^ i;
    c = (c << 3) + a;
    b ^= c >> 5;
    d = (d & a) | (b & ~c);
  }
  out[get_global_id(0)] = a ^ b ^ c ^ d;
}

__kernel void alu_f32(__global float *out, uint n) {
  float a = get_global_id(0), b = 0.5f, c = 1.25f;
  for (uint i = 0; i < n; i++) {
    a = a * 0.999f + b;
    b = b * 0.5f + c;
    c = fma(c, 0.25f, a);
  }
  out[get_global_id(0)] = a + b + c;
}

__kernel void alu_divergent(__global uint *out, uint n) { // half of the lanes at a time
  uint a = get_global_id(0), b = a * 3;
  for (uint i = 0; i < n; i++) {
    if (get_local_id(0) & 1) {
      a += b ^ i;
      b = (b << 1) ^ a;
      a ^= b >> 7;
    } else {
      b += a ^ i;
      a = (a << 1) ^ b;
      b ^= a >> 7;
    }
  }
  out[get_global_id(0)] = a ^ b;
}

__kernel void fma_f64(__global double *out, uint n) {
  double a = get_global_id(0), b = 0.5, c = 1.25;
  for (uint i = 0; i < n; i++) {
    a = fma(a, 0.999, b);
    b = fma(b, 0.5, c);
    c = fma(c, 0.25, a);
  }
  out[get_global_id(0)] = a + b + c;
}

__kernel void stream(__global const uint *in, __global uint *out, uint n) { // n passes over the data
  size_t i = get_global_id(0), size = get_global_size(0);
  for (uint k = 0; k < n; k++) out[i + k * size] = in[i + k * size] + 1;
}

// The same in blocks of 16,384 items each, so that a worker's addresses are as near to each other in a large grid as in a small one.
__kernel void stream_blocks(__global const uint *in, __global uint *out, uint n) {
  size_t i = get_global_id(0), block = 16384, first = i / block * block * n + i % block;
  for (uint k = 0; k < n; k++) out[first + k * block] = in[first + k * block] + 1;
}

__kernel void copy(__global const uint *in, __global uint *out, uint n) {
  size_t i = get_global_id(0);
  out[i] = in[i] + n;
}

__kernel void lds_loop(__global uint *out, uint n) {
  __local uint tile[256];
  uint l = get_local_id(0), sum = 0;
  for (uint i = 0; i < n; i++) {
    tile[l] = sum + i;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[l ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}

// What waves of a workgroup cost that stay in step: a tree of sums, tiles of a matrix product, and LDS
// that each wave has for itself.
__kernel void lds_reduce(__global uint *out, uint n) {
  __local uint tile[1024];
  uint l = get_local_id(0), sum = l;
  for (uint i = 0; i < n; i++) {
    tile[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = get_local_size(0) / 2; step; step /= 2) {
      if (l < step) tile[l] += tile[l + step];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum += tile[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}

__kernel void lds_gemm(__global float *out, uint n) { // tiles of 16 x 16
  __local float a[2][16][16], b[2][16][16];
  uint x = get_local_id(0) % 16, y = get_local_id(0) / 16 % 16;
  float sum = 0, next = x;
  for (uint i = 0; i < n; i++) {
    a[i % 2][y][x] = next, b[i % 2][y][x] = next + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; k++) sum += a[i % 2][y][k] * b[i % 2][k][x];
    next = sum * 0.5f;
  }
  out[get_global_id(0)] = sum;
}

__kernel void lds_own(__global uint *out, uint n) {
  __local volatile uint tile[1024];
  uint l = get_local_id(0), sum = l;
  for (uint i = 0; i < n; i++) {
    tile[l] = sum + i;
    __builtin_amdgcn_wave_barrier();
    sum += tile[l ^ 31] * 3;
    __builtin_amdgcn_wave_barrier();
  }
  out[get_global_id(0)] = sum;
}

__kernel void atomics(__global uint *out, uint n) { // with the old value, without it, and in LDS
  __local uint bins[256];
  uint l = get_local_id(0), sum = 0;
  bins[l % 256] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < n; i++) {
    atomic_add(&out[get_global_id(0) ^ (i & 15)], i);
    sum += atomic_xchg(&out[get_global_id(0)], sum) + atomic_add(&bins[(l + i) % 256], sum);
  }
  out[get_global_id(0)] = sum;
}

__kernel void empty(void) {}
