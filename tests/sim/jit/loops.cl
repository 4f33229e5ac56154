// Loops that get hot: kernels for loops_test.cpp.
kernel void integers(global uint *out, uint n) {
  uint a = get_global_id(0), b = a ^ 0x9e3779b9u, c = 1, d = 7;
  for (uint i = 0; i < n; i++) {
    a += b ^ i;
    c = (c << 3) + a;
    b ^= c >> 5;
    d = (d & a) | (b & ~c);
  }
  out[get_global_id(0)] = a ^ b ^ c ^ d;
}

// Lanes leave the loop one by one; some numbers become infinite, and then NaN.
kernel void floats(global uint *out, uint n) {
  const uint id = get_global_id(0);
  float a = id, b = 0.5f;
  for (uint i = 0; i < n + id % 64; i++) {
    if ((id + i) & 3)
      a = a * 1.5f - b;
    else
      b = fma(b, -3.0f, a);
    if (i % 97 == 96) a = a - a;
  }
  out[id] = as_uint(a) ^ as_uint(b);
}

kernel void doubles(global uint *out, uint n) {
  double a = get_global_id(0), b = 0.5;
  for (uint i = 0; i < n; i++) {
    a = fma(a, 0.999, b);
    b = b * 0.5 + (double)i;
  }
  out[get_global_id(0)] = as_uint2(a).x ^ as_uint2(b).y;
}

kernel void shared_sums(global uint *out, uint n) {
  local uint tile[256];
  const uint l = get_local_id(0);
  uint sum = l;
  for (uint i = 0; i < n; i++) {
    tile[l] = sum + i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 128; step; step /= 2) {
      if (l < step) tile[l] += tile[l + step];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum += tile[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}

// Waves that read what others write, without a barrier: what they get depends on the order in which
// they take turns.
kernel void neighbours(global uint *out, uint n) {
  local volatile uint tile[256];
  const uint l = get_local_id(0);
  uint sum = l;
  for (uint i = 0; i < n; i++) {
    tile[l] = sum + i;
    sum += tile[(l + 64) & 255] * 3;
  }
  out[get_global_id(0)] = sum;
}

// Reads beyond the end in its 1000th round.
kernel void runs_away(global uint *out, uint n) {
  uint sum = 0;
  for (uint i = 0; i < n; i++) {
    sum = sum * 3 + i;
    if (i >= 1000) sum += out[((size_t)i - 999) << 30];
  }
  out[get_global_id(0)] = sum;
}

kernel void endless(global volatile uint *out, uint n) {
  uint sum = n;
  do sum = sum * 3 + 1;
  while (sum != 0xffffffff || sum == n); // sum == 0xffffffff is never reached from 0
  out[0] = sum;
}
