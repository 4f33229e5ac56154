// Whole small programs.
#include "cases.h"

// ---- histogram: bins of a workgroup in dynamic LDS, merged at the end
template <bool broken>
__global__ void histogram(const unsigned char *data, int n, unsigned *bins, int count) {
  extern __shared__ unsigned local[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i] % count], 1u);
  __syncthreads();
  for (int i = threadIdx.x; broken ? i <= count : i < count; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]); // finds: memory
}
template <bool broken> void run_histogram() {
  Device<unsigned char> data(5000);
  Device<unsigned> bins(96);
  std::vector<unsigned char> host(5000);
  for (int i = 0; i < 5000; ++i) host[i] = i * 7;
  HIP(hipMemcpy(data.data, host.data(), 5000, hipMemcpyHostToDevice));
  histogram<broken><<<3, 128, 96 * 4>>>(data.data, 5000, bins.data, 96);
  finish();
}

// ---- scan: Blelloch, with padding against bank conflicts
__device__ inline int padded(int i) { return i + (i >> 5); }
template <bool broken> __global__ void blelloch(const int *in, int *out, int n) {
  extern __shared__ int temp[];
  const int t = threadIdx.x;
  temp[padded(2 * t)] = in[2 * t];         // may: memory
  temp[padded(2 * t + 1)] = in[2 * t + 1]; // may: memory
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    const int a = padded(offset * (2 * t + 1) - 1), b = padded(offset * (2 * t + 2) - 1);
    if (t < d) temp[b] += temp[a]; // finds: memory
  }
  if (t == 0) temp[padded(n - 1)] = 0; // finds: memory
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const int a = padded(offset * (2 * t + 1) - 1), b = padded(offset * (2 * t + 2) - 1);
      const int x = temp[a];
      temp[a] = temp[b]; // finds: memory
      temp[b] += x;      // finds: memory
    }
  }
  __syncthreads();
  out[2 * t] = temp[padded(2 * t)];         // may: memory
  out[2 * t + 1] = temp[padded(2 * t + 1)]; // may: memory
}
template <bool broken> void run_scan() {
  Device<int> in(256), out(256);
  // Forgot the padding of the last row.
  blelloch<broken><<<1, 128, (broken ? 256 + 7 - 1 : 256 + 7 + 1) * 4>>>(in.data, out.data, 256);
  finish();
}

// ---- stencil in three dimensions, two ghost layers in z by registers
template <bool broken> __global__ void heat(const float *in, float *out, int nx, int ny, int nz) {
  __shared__ float tile[10][34];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const bool inside = x < nx && y < ny;
  const int layer = nx * ny;
  float below = 0, here = inside ? in[y * nx + x] : 0;
  for (int z = 0; z < nz; ++z) {
    const float above =
        inside && (broken || z + 1 < nz) ? in[(z + 1) * layer + y * nx + x] : 0; // finds: memory
    tile[ty][tx] = here;
    if (threadIdx.x == 0) tile[ty][0] = inside && x > 0 ? in[z * layer + y * nx + x - 1] : 0;
    if (threadIdx.x == 31) tile[ty][33] = x + 1 < nx && y < ny ? in[z * layer + y * nx + x + 1] : 0;
    if (threadIdx.y == 0) tile[0][tx] = inside && y > 0 ? in[z * layer + (y - 1) * nx + x] : 0;
    if (threadIdx.y == 7) tile[9][tx] = x < nx && y + 1 < ny ? in[z * layer + (y + 1) * nx + x] : 0;
    __syncthreads();
    if (inside)
      out[z * layer + y * nx + x] =
          here + 0.1f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] +
                         below + above - 6 * here);
    __syncthreads();
    below = here;
    here = above;
  }
}
template <bool broken> void run_heat() {
  Device<float> a(50 * 20 * 6), b(50 * 20 * 6);
  const dim3 grid(2, 3), block(32, 8);
  for (int i = 0; i < 3; ++i)
    heat<broken><<<grid, block>>>(i % 2 ? b.data : a.data, i % 2 ? a.data : b.data, 50, 20, 6);
  finish();
}

// ---- radix sort, four bits at a time
__global__ void count_digits(const unsigned *keys, int n, int shift, unsigned *counts) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&local[keys[i] >> shift & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}
__global__ void scan_counts(unsigned *counts, int n) {
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    const unsigned c = counts[i];
    counts[i] = sum;
    sum += c;
  }
}
template <bool broken>
__global__ void scatter(const unsigned *keys, unsigned *to, int n, int shift,
                        const unsigned *counts) {
  __shared__ unsigned char digits[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned key = i < n ? keys[i] : ~0u, digit = key >> shift & 15;
  digits[threadIdx.x] = i < n ? digit : 255; // finds: race
  if (!broken) __syncthreads();
  unsigned rank = 0;
  for (unsigned j = 0; j < threadIdx.x; ++j) rank += digits[j] == digit; // finds: race
  if (i < n) to[counts[digit * gridDim.x + blockIdx.x] + rank] = key;    // may: race
}
template <bool broken> void run_radix_sort() {
  const int n = 700, blocks = (n + 127) / 128;
  Device<unsigned> a(n), b(n), counts(16 * blocks, false);
  std::vector<unsigned> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 2654435761u >> 20;
  HIP(hipMemcpy(a.data, host.data(), n * 4, hipMemcpyHostToDevice));
  unsigned *from = a.data, *to = b.data;
  for (int shift = 0; shift < 12; shift += 4) {
    count_digits<<<blocks, 128>>>(from, n, shift, counts.data);
    scan_counts<<<1, 1>>>(counts.data, 16 * blocks);
    scatter<broken><<<blocks, 128>>>(from, to, n, shift, counts.data);
    std::swap(from, to);
  }
  HIP(hipMemcpy(host.data(), from, n * 4, hipMemcpyDeviceToHost));
  if (!broken)
    for (int i = 1; i < n; ++i)
      if (host[i - 1] > host[i]) std::exit(9);
}

// ---- matrix multiplication of any size
template <bool broken, class T>
__global__ void matmul(const T *a, const T *b, T *c, int m, int n, int k) {
  __shared__ T as[16][16], bs[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < (k + 15) / 16; ++t) {
    const int ka = t * 16 + threadIdx.x, kb = t * 16 + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : T(0);
    bs[threadIdx.y][threadIdx.x] =
        (broken || kb < k) && column < n ? b[kb * n + column] : T(0); // finds: memory
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
template <bool broken> void run_matmul() {
  Device<double> a(40 * 23), b(23 * 30), c(40 * 30, false);
  matmul<broken><<<dim3(2, 3), dim3(16, 16)>>>(a.data, b.data, c.data, 40, 30, 23);
  finish();
}

// ---- breadth-first search with queues
template <bool broken>
__global__ void expand(const int *offsets, const int *edges, int *level, const int *frontier,
                       int count, int *next, int *tail, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int v = frontier[i];
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) { // finds: memory
    const int w = edges[e];
    if (atomicCAS(&level[w], -1, depth) == -1) next[atomicAdd(tail, 1)] = w;
  }
}
template <bool broken> void run_bfs() {
  const int n = 200;
  std::vector<int> offsets, edges;
  for (int v = 0; v < n; ++v) {
    offsets.push_back(edges.size());
    for (const int w : {(v * 3 + 1) % n, (v + 1) % n}) edges.push_back(w);
  }
  offsets.push_back(edges.size());
  Device<int> d_offsets(broken ? n : n + 1, false), d_edges(edges.size(), false), level(n, false),
      a(n, false), b(n, false), tail(1, false);
  HIP(hipMemcpy(d_offsets.data, offsets.data(), d_offsets.count * 4, hipMemcpyHostToDevice));
  HIP(hipMemcpy(d_edges.data, edges.data(), edges.size() * 4, hipMemcpyHostToDevice));
  HIP(hipMemset(level.data, 0xff, n * 4));
  HIP(hipMemset(level.data, 0, 4));
  HIP(hipMemset(a.data, 0, 4));
  int count = 1, *frontier = a.data, *next = b.data;
  for (int depth = 1; count; ++depth) {
    HIP(hipMemset(tail.data, 0, 4));
    expand<broken><<<(count + 63) / 64, 64>>>(d_offsets.data, d_edges.data, level.data, frontier,
                                              count, next, tail.data, depth);
    HIP(hipMemcpy(&count, tail.data, 4, hipMemcpyDeviceToHost));
    std::swap(frontier, next);
  }
}

// ---- sparse matrix times vector, a wave for each row
template <bool broken>
__global__ void spmv(const int *rows, const int *columns, const float *values, const float *x,
                     float *y, int n) {
  __shared__ volatile float sums[128 + 32];
  const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float sum = 0;
  if (row < n)
    for (int j = rows[row] + lane; j < rows[row + 1]; j += 32)
      sum += values[j] * x[columns[j]]; // finds: init
  sums[threadIdx.x] = sum;
  if (lane < 16) sums[threadIdx.x] = sum += sums[threadIdx.x + 16];
  if (lane < 8) sums[threadIdx.x] = sum += sums[threadIdx.x + 8];
  if (lane < 4) sums[threadIdx.x] = sum += sums[threadIdx.x + 4];
  if (lane < 2) sums[threadIdx.x] = sum += sums[threadIdx.x + 2];
  if (lane < 1) sums[threadIdx.x] = sum += sums[threadIdx.x + 1];
  if (lane == 0 && row < n) y[row] = sum;
}
template <bool broken> void run_spmv() {
  const int n = 77;
  std::vector<int> rows{0}, columns;
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n && j < i + i % 50; ++j) columns.push_back(j);
    rows.push_back(columns.size());
  }
  Device<int> d_rows(n + 1, false), d_columns(columns.size(), false);
  Device<float> values(columns.size()), x(n, false), y(n, false);
  HIP(hipMemcpy(d_rows.data, rows.data(), (n + 1) * 4, hipMemcpyHostToDevice));
  HIP(hipMemcpy(d_columns.data, columns.data(), columns.size() * 4, hipMemcpyHostToDevice));
  HIP(hipMemset(x.data, 0, broken ? n : n * sizeof(float))); // in elements
  spmv<broken><<<(n + 3) / 4, 128>>>(d_rows.data, d_columns.data, values.data, x.data, y.data, n);
  finish();
}

// ---- bodies, tile by tile
template <bool broken> __global__ void forces(const float4 *p, float4 *a, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 mine = i < n ? p[i] : float4{0, 0, 0, 0};
  float3 sum{0, 0, 0};
  for (int first = 0; first < n; first += 64) {
    if (first + int(threadIdx.x) < n)
      tile[threadIdx.x] = p[first + threadIdx.x];
    else if (!broken)
      tile[threadIdx.x] = float4{0, 0, 0, 0};
    __syncthreads();
    for (int j = 0; j < 64; ++j) {
      const float4 one = tile[j]; // finds: init
      const float dx = one.x - mine.x, dy = one.y - mine.y, dz = one.z - mine.z;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = one.w * r * r * r;
      sum.x += dx * w, sum.y += dy * w, sum.z += dz * w;
    }
    __syncthreads();
  }
  if (i < n) a[i] = {sum.x, sum.y, sum.z, 0};
}
template <bool broken> void run_bodies() {
  Device<float4> p(40), a(40, false);
  forces<broken><<<1, 64>>>(p.data, a.data, 40);
  finish();
}

template <bool broken> int run() {
  run_histogram<broken>();
  run_scan<broken>();
  run_heat<broken>();
  run_radix_sort<broken>();
  run_matmul<broken>();
  run_bfs<broken>();
  run_spmv<broken>();
  run_bodies<broken>();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
