// Algorithms within workgroups and between them.
#include "cases.h"

// ---- FFT in LDS
template <bool broken> __global__ void fft(const float2 *in, float2 *out) {
  __shared__ float2 data[256];
  const unsigned t = threadIdx.x;
  data[__brev(t) >> 24] = in[t];
  data[__brev(t + 128) >> 24] = in[t + 128];
  __syncthreads();
  for (unsigned half = 1; half < 256; half *= 2) {
    const unsigned k = t % half, at = t / half * half * 2 + k;
    const float angle = -3.14159265f * k / half;
    const float c = cosf(angle), s = sinf(angle);
    const float2 a = data[at], b = data[at + half]; // finds: race
    const float2 w{b.x * c - b.y * s, b.x * s + b.y * c};
    data[at] = {a.x + w.x, a.y + w.y};        // finds: race
    data[at + half] = {a.x - w.x, a.y - w.y}; // finds: race
    if (!broken || half < 64) __syncthreads();
  }
  if (broken) __syncthreads();
  out[t] = data[t];
  out[t + 128] = data[t + 128];
}
template <bool broken> void run_fft() {
  Device<float2> in(256), out(256, false);
  fft<broken><<<1, 128>>>(in.data, out.data);
  finish();
}

// ---- the alignment of two strings, diagonal by diagonal
template <bool broken> __global__ void align(const char *a, const char *b, int n, int *score) {
  __shared__ int diagonals[3][129];
  const int i = threadIdx.x + 1;
  int best = 0;
  for (int k = threadIdx.x; k < 3 * 129; k += blockDim.x) diagonals[k / 129][k % 129] = 0;
  __syncthreads();
  for (int d = 2; d <= 2 * n; ++d) {
    int *now = diagonals[d % (broken ? 2 : 3)];
    const int *last = diagonals[(d - 1) % (broken ? 2 : 3)],
              *before = diagonals[(d - 2) % (broken ? 2 : 3)];
    const int j = d - i;
    if (i <= n && j >= 1 && j <= n) {
      const int same = before[i - 1] + (a[i - 1] == b[j - 1] ? 2 : -1); // finds: race
      const int gap = max(last[i - 1], last[i]) - 1;
      const int value = max(0, max(same, gap));
      now[i] = value; // finds: race
      best = max(best, value);
    }
    __syncthreads();
  }
  atomicMax(score, best);
}
template <bool broken> void run_align() {
  Device<char> a(128), b(128);
  Device<int> score(1);
  align<broken><<<1, 128>>>(a.data, b.data, 128, score.data);
  finish();
}

// ---- a table of substitutions that a small workgroup loads into LDS
template <bool broken>
__global__ void substitute(const unsigned char *table, const unsigned char *in,
                           unsigned char *out) {
  __shared__ unsigned char box[256];
  if (broken)
    box[threadIdx.x] = table[threadIdx.x]; // as if there were 256 of them
  else
    for (int i = threadIdx.x; i < 256; i += blockDim.x) box[i] = table[i];
  __syncthreads();
  unsigned char v = in[threadIdx.x];
  for (int round = 0; round < 4; ++round) v = box[v ^ round]; // finds: init
  out[threadIdx.x] = v;
}
template <bool broken> void run_substitute() {
  std::vector<unsigned char> host(256);
  for (int i = 0; i < 256; ++i) host[i] = i * 167 + 13;
  Device<unsigned char> table(256), in(128), out(128, false);
  HIP(hipMemcpy(table.data, host.data(), 256, hipMemcpyHostToDevice));
  HIP(hipMemcpy(in.data, host.data(), 128, hipMemcpyHostToDevice));
  substitute<broken><<<1, 128>>>(table.data, in.data, out.data);
  finish();
}

// ---- the last workgroup sums up; atomicInc sets the counter back by itself
template <bool broken>
__global__ void reduce(const double *in, int n, double *part, unsigned *count, double *out) {
  __shared__ double sums[128];
  __shared__ bool is_last;
  double sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += in[i];
  sums[threadIdx.x] = sum;
  for (int d = 64; d; d /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < d) sums[threadIdx.x] += sums[threadIdx.x + d];
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sums[0]; // finds: race, optimized
    if (!broken) __threadfence();
    is_last = __builtin_amdgcn_atomic_inc32(count, gridDim.x - 1, __ATOMIC_RELAXED, "agent") ==
              gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x == 0) {
    double total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) total += part[i]; // finds: race, optimized
    *out = total;
  }
}
template <bool broken> void run_reduce() {
  Device<double> in(5000), part(16, false), out(1, false);
  Device<unsigned> count(1, false);
  HIP(hipMemset(count.data, 0, 4));
  for (int i = 0; i < 2; ++i)
    reduce<broken><<<8, 128>>>(in.data, 5000, part.data, count.data, out.data);
  finish();
}

// ---- scan by shuffles; sums of waves in LDS
template <bool broken> __global__ void shuffle_scan(const int *in, int *out, int n) {
  __shared__ int sums[32];
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize,
            waves = (blockDim.x + warpSize - 1) / warpSize;
  int value = int(threadIdx.x) < n ? in[threadIdx.x] : 0;
  for (int d = 1; d < warpSize; d *= 2) {
    const int below = __shfl_up(value, d);
    if (lane >= d) value += below;
  }
  if (lane == warpSize - 1) sums[wave] = value;
  __syncthreads();
  if (wave == 0) {
    int sum = lane < (broken ? 32 : waves) ? sums[lane] : 0; // finds: init
    for (int d = 1; d < 32; d *= 2) {
      const int below = __shfl_up(sum, d);
      if (lane >= d) sum += below;
    }
    if (lane < (broken ? 32 : waves)) sums[lane] = sum; // may: init
  }
  __syncthreads();
  if (wave > 0) value += sums[wave - 1];
  if (int(threadIdx.x) < n) out[threadIdx.x] = value;
}
template <bool broken> void run_shuffle_scan() {
  Device<int> in(256), out(256, false);
  shuffle_scan<broken><<<1, 256>>>(in.data, out.data, 250);
  finish();
}

// ---- an early return before a barrier
template <bool broken> __global__ void blur(const float *in, float *out, int n) {
  __shared__ float row[192];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (broken && i >= n) return;
  row[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads(); // finds: sync
  const float left = threadIdx.x ? row[threadIdx.x - 1] : 0;
  const float right =
      threadIdx.x + 1 < blockDim.x && (!broken || i + 1 < n) ? row[threadIdx.x + 1] : 0;
  if (i < n) out[i] = (left + row[threadIdx.x] + right) / 3;
}
template <bool broken> void run_blur() {
  Device<float> in(300), out(300, false);
  blur<broken><<<2, 192>>>(in.data, out.data, 300);
  finish();
}

// ---- a hash table with open addressing
constexpr unsigned long long kNone = ~0ull;
template <bool broken>
__global__ void insert(unsigned long long *keys, int *values, int slots, const int *in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned long long key = in[i];
  unsigned at = unsigned(key * 2654435761u) % slots;
  if (broken) {
    while (keys[at] != kNone && keys[at] != key) at = (at + 1) % slots; // finds: race
    keys[at] = key;                                                     // finds: race
  } else {
    for (;;) {
      const unsigned long long was = atomicCAS(&keys[at], kNone, key);
      if (was == kNone || was == key) break;
      at = (at + 1) % slots;
    }
  }
  atomicAdd(&values[at], 1);
}
template <bool broken> void run_hash() {
  const int n = 600;
  Device<unsigned long long> keys(1024, false);
  Device<int> values(1024, false), in(n, false);
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 31 % 211;
  HIP(hipMemcpy(in.data, host.data(), n * 4, hipMemcpyHostToDevice));
  HIP(hipMemset(keys.data, 0xff, 1024 * 8));
  HIP(hipMemset(values.data, 0, 1024 * 4));
  insert<broken><<<5, 128>>>(keys.data, values.data, 1024, in.data, n);
  finish();
}

// ---- Gaussian elimination: rows are changed while the pivot's row is read
template <bool broken> __global__ void eliminate(float *m, float *factors, int n, int pivot) {
  const int row = blockIdx.x;
  if (broken) {
    if (row == pivot) {
      for (int c = threadIdx.x; c < n; c += blockDim.x) m[row * n + c] *= 0.5f; // finds: race
      return;
    }
  }
  if (row <= pivot) return;
  const float factor = factors[row];
  for (int c = threadIdx.x; c < n; c += blockDim.x)
    m[row * n + c] -= factor * m[pivot * n + c]; // finds: race
}
__global__ void make_factors(const float *m, float *factors, int n, int pivot) {
  if (int(threadIdx.x) < n)
    factors[threadIdx.x] = m[threadIdx.x * n + pivot] / m[pivot * n + pivot];
}
template <bool broken> void run_eliminate() {
  const int n = 40;
  std::vector<float> host(n * n);
  for (int i = 0; i < n * n; ++i) host[i] = 1 + i % 7 + (i % (n + 1) == 0) * 50;
  Device<float> m(n * n, false), factors(n, false);
  HIP(hipMemcpy(m.data, host.data(), n * n * 4, hipMemcpyHostToDevice));
  for (int pivot = 0; pivot < 3; ++pivot) {
    make_factors<<<1, 64>>>(m.data, factors.data, n, pivot);
    eliminate<broken><<<n, 64>>>(m.data, factors.data, n, pivot);
  }
  finish();
}

// ---- k-means: sums by atomics, set to 0 before each turn
__global__ void assign(const float2 *points, int n, const float2 *centers, int k, int *of) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  float least = 1e30f;
  for (int c = 0; c < k; ++c) {
    const float dx = points[i].x - centers[c].x, dy = points[i].y - centers[c].y,
                d = dx * dx + dy * dy;
    if (d < least) least = d, best = c;
  }
  of[i] = best;
}
template <bool broken>
__global__ void add_up(const float2 *points, int n, const int *of, float *sums, int *counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&sums[2 * of[i]], points[i].x);
  atomicAdd(&sums[2 * of[i] + 1], points[i].y);
  atomicAdd(&counts[of[i]], 1); // finds: init
}
__global__ void divide(const float *sums, const int *counts, float2 *centers, int k) {
  const int c = threadIdx.x;
  if (c < k && counts[c]) centers[c] = {sums[2 * c] / counts[c], sums[2 * c + 1] / counts[c]};
}
template <bool broken> void run_kmeans() {
  const int n = 500, k = 6;
  std::vector<float2> host(n);
  for (int i = 0; i < n; ++i) host[i] = {float(i % 23), float(i % 31)};
  Device<float2> points(n, false), centers(k, false);
  Device<float> sums(2 * k, false);
  Device<int> counts(k, false), of(n, false);
  HIP(hipMemcpy(points.data, host.data(), n * 8, hipMemcpyHostToDevice));
  HIP(hipMemcpy(centers.data, host.data() + 50, k * 8, hipMemcpyHostToDevice));
  for (int turn = 0; turn < 2; ++turn) {
    HIP(hipMemset(sums.data, 0, 2 * k * 4));
    if (!broken) HIP(hipMemset(counts.data, 0, k * 4));
    assign<<<4, 128>>>(points.data, n, centers.data, k, of.data);
    add_up<broken><<<4, 128>>>(points.data, n, of.data, sums.data, counts.data);
    divide<<<1, 64>>>(sums.data, counts.data, centers.data, k);
  }
  finish();
}

// ---- cells of bytes with a border
template <bool broken>
__global__ void life(const unsigned char *from, unsigned char *to, int w, int h) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= w || y >= h) return;
  int around = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const int u = broken ? x + dx : (x + dx + w) % w, v = broken ? y + dy : (y + dy + h) % h;
      if (dx || dy) around += from[v * w + u]; // finds: memory
    }
  to[y * w + x] = around == 3 || (around == 2 && from[y * w + x]);
}
template <bool broken> void run_life() {
  Device<unsigned char> a(50 * 37), b(50 * 37, false);
  life<broken><<<dim3(4, 3), dim3(16, 16)>>>(a.data, b.data, 50, 37);
  finish();
}

// ---- merging two sorted arrays: each work-item finds its place in the other one
template <bool broken> __global__ void merge(const int *a, int n, const int *b, int m, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int low = 0, high = broken ? m + 1 : m;
  while (low < high) {
    const int middle = (low + high) / 2;
    const bool is_less = b[middle] < a[i]; // finds: memory
    (is_less ? low : high) = middle + is_less;
  }
  out[i + (low < m ? low : m)] = a[i];
}
template <bool broken> void run_merge() {
  std::vector<int> host(256);
  for (int i = 0; i < 256; ++i) host[i] = 2 * i;
  Device<int> a(256), b(63), out(256 + 63, false);
  HIP(hipMemcpy(a.data, host.data(), 1024, hipMemcpyHostToDevice));
  HIP(hipMemcpy(b.data, host.data(), 252, hipMemcpyHostToDevice));
  merge<broken><<<2, 128>>>(a.data, 256, b.data, 63, out.data);
  finish();
}

// ---- scopes of atomics
template <bool broken> __global__ void hand_over(int *data, int *ready, int *out) {
  constexpr int scope = broken ? __HIP_MEMORY_SCOPE_WORKGROUP : __HIP_MEMORY_SCOPE_AGENT;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;                                            // may: race
    __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, scope); // may: race
  } else {
    while (__hip_atomic_load(ready, __ATOMIC_ACQUIRE, scope) == 0) { // may: race
    }
    *out = *data; // may: race
  }
}
template <bool broken> void run_hand_over() {
  Device<int> data(1, false), ready(1, false), out(1, false);
  HIP(hipMemset(ready.data, 0, 4));
  HIP(hipMemset(data.data, 0, 4));
  hand_over<broken><<<2, 64>>>(data.data, ready.data, out.data);
  finish();
}

// ---- votes of a workgroup
template <bool broken> __global__ void converges(const float *a, float *b, int *rounds, int n) {
  __shared__ float values[256];
  values[threadIdx.x] = a[threadIdx.x];
  int round = 0;
  for (;; ++round) {
    __syncthreads();
    const float mine = values[threadIdx.x];
    const float left = values[threadIdx.x ? threadIdx.x - 1 : 0]; // finds: race
    const float fresh = (mine + left) / 2;
    if (!broken) __syncthreads();
    values[threadIdx.x] = fresh; // finds: race
#ifdef __OPTIMIZE__ // else the device libraries use instructions that gfx10 does not have
    if (!__syncthreads_or(fabsf(fresh - mine) > 0.1f) || round == 4) break;
#else
    if (round == 4) break;
#endif
  }
  b[threadIdx.x] = values[threadIdx.x];
  if (threadIdx.x == 0) *rounds = round;
}
template <bool broken> void run_converges() {
  std::vector<float> host(256);
  for (int i = 0; i < 256; ++i) host[i] = i * i % 97;
  Device<float> a(256), b(256, false);
  Device<int> rounds(1, false);
  HIP(hipMemcpy(a.data, host.data(), 1024, hipMemcpyHostToDevice));
  converges<broken><<<1, 256>>>(a.data, b.data, rounds.data, 256);
  finish();
}

// ---- compaction by ballots, places from one atomic of each wave
template <bool broken> __global__ void keep_odd(const int *in, int n, int *out, unsigned *count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keeps = i < n && in[i] % 2;
  const unsigned long long votes = __ballot(keeps);
  const unsigned lane = threadIdx.x % warpSize;
  const unsigned before = __popcll(votes & ((1ull << lane) - 1));
  unsigned base = 0;
  if (broken)
    base = __popcll(votes) * (i / warpSize); // guessed
  else {
    if (lane == 0) base = atomicAdd(count, unsigned(__popcll(votes)));
    base = __shfl(base, 0);
  }
  if (keeps) out[base + before] = in[i]; // finds: race
}
template <bool broken> void run_keep_odd() {
  const int n = 900;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * i % 13;
  Device<int> in(n), out(2 * n, false);
  Device<unsigned> count(1, false);
  HIP(hipMemcpy(in.data, host.data(), n * 4, hipMemcpyHostToDevice));
  HIP(hipMemset(count.data, 0, 4));
  keep_odd<broken><<<8, 128>>>(in.data, n, out.data, count.data);
  finish();
}

// ---- Mandelbrot
template <bool broken> __global__ void mandelbrot(unsigned char *image, int w, int h) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= w || (broken ? y > h : y >= h)) return;
  float re = 0, im = 0;
  int i = 0;
  for (; i < 20 && re * re + im * im < 4; ++i) {
    const float t = re * re - im * im + 3.f * x / w - 2;
    im = 2 * re * im + 2.f * y / h - 1;
    re = t;
  }
  image[y * w + x] = i; // finds: memory
}
template <bool broken> void run_mandelbrot() {
  Device<unsigned char> image(60 * 33, false);
  mandelbrot<broken><<<dim3(4, 3), dim3(16, 16)>>>(image.data, 60, 33);
  finish();
}

// ---- sums in floating point by compare-and-swap, in LDS and in memory
__device__ double add_double(double *at, double value) {
  unsigned long long *as = reinterpret_cast<unsigned long long *>(at), old = *as, seen;
  do {
    seen = old;
    old = atomicCAS(as, seen, __double_as_longlong(value + __longlong_as_double(seen)));
  } while (old != seen);
  return __longlong_as_double(old);
}
template <bool broken> __global__ void dot(const double *a, const double *b, int n, double *out) {
  __shared__ double sum;
  if (threadIdx.x == 0) sum = 0; // finds: race
  if (!broken) __syncthreads();
  double own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += a[i] * b[i];
  for (int d = 16; d; d /= 2) own += __shfl_xor(own, d);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, own); // finds: race
  __syncthreads();
  if (threadIdx.x == 0) add_double(out, sum);
}
template <bool broken> void run_dot() {
  Device<double> a(1000), b(1000), out(1, false);
  HIP(hipMemset(out.data, 0, 8));
  dot<broken><<<3, 256>>>(a.data, b.data, 1000, out.data);
  finish();
}

// ---- a ring between two workgroups
template <bool broken>
__global__ void ring(int *slots, unsigned *head, unsigned *tail, int *out, int n) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - int(__hip_atomic_load(tail, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) >= 4)
        __builtin_amdgcn_s_sleep(1);
      slots[i % 4] = i * i; // finds: race, optimized
      __hip_atomic_store(head, unsigned(i + 1), broken ? __ATOMIC_RELAXED : __ATOMIC_RELEASE,
                         __HIP_MEMORY_SCOPE_AGENT);
    }
  } else {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      while (int(__hip_atomic_load(head, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) <= i)
        __builtin_amdgcn_s_sleep(1);
      sum += slots[i % 4]; // finds: race, optimized
      __hip_atomic_store(tail, unsigned(i + 1), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
    *out = sum;
  }
}
template <bool broken> void run_ring() {
  Device<int> slots(4, false), out(1, false);
  Device<unsigned> head(1, false), tail(1, false);
  HIP(hipMemset(head.data, 0, 4));
  HIP(hipMemset(tail.data, 0, 4));
  HIP(hipMemset(slots.data, 0, 16));
  ring<broken><<<2, 64>>>(slots.data, head.data, tail.data, out.data, 20);
  finish();
}

template <bool broken> int run() {
  run_fft<broken>();
  run_align<broken>();
  run_substitute<broken>();
  run_reduce<broken>();
  run_shuffle_scan<broken>();
  run_blur<broken>();
  run_hash<broken>();
  run_eliminate<broken>();
  run_kmeans<broken>();
  run_life<broken>();
  run_merge<broken>();
  run_hand_over<broken>();
  run_converges<broken>();
  run_keep_odd<broken>();
  run_mandelbrot<broken>();
  run_dot<broken>();
  run_ring<broken>();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
