// Programs as they are written for GPUs: breadth-first search with queues, shortest paths, the game
// of life, sparse matrices, Fourier transform, LU decomposition.
#include "../check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

// ---- breadth-first search, one level per launch
__global__ void expand(const int *first, const int *to, const int *frontier, int size, int *level,
                       int depth, int *next, int *next_size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    int v = frontier[i];
    for (int e = first[v]; e < first[v + 1]; ++e)
      if (atomicCAS(&level[to[e]], -1, depth) == -1) next[atomicAdd(next_size, 1)] = to[e];
  }
}

static void breadth_first() {
  const int n = 5000;
  check::Random random(11);
  std::vector<int> first{0}, to;
  for (int v = 0; v < n; ++v) {
    for (uint32_t e = random.below(6); e > 0; --e) to.push_back(static_cast<int>(random.below(n)));
    first.push_back(static_cast<int>(to.size()));
  }
  std::vector<int> want(n, -1), queue{0};
  want[0] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = first[queue[i]]; e < first[queue[i] + 1]; ++e)
      if (want[to[e]] < 0) want[to[e]] = want[queue[i]] + 1, queue.push_back(to[e]);

  check::Device<int> d_first(first), d_to(to), level(n), a(n), b(n), count(1);
  level.fill(0xff);
  HIP(hipMemset(level.get(), 0, sizeof(int)));
  HIP(hipMemset(a.get(), 0, sizeof(int)));
  int size = 1, *now = a, *next = b;
  for (int depth = 1; size > 0; ++depth, std::swap(now, next)) {
    count.fill(0);
    LAUNCH(expand, 7, 192, d_first.get(), d_to.get(), now, size, level.get(), depth, next,
           count.get());
    size = count.read()[0];
  }
  EXPECT_SAME(level.read(), want);
  EXPECT(*std::max_element(want.begin(), want.end()) > 4);
}

// ---- shortest paths between all pairs
__global__ void relax(float *distance, int n, int via) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n)
    distance[y * n + x] = fminf(distance[y * n + x], distance[y * n + via] + distance[via * n + x]);
}

static void all_pairs() {
  const int n = 70;
  check::Random random(12);
  std::vector<float> d(n * n, INFINITY);
  for (int i = 0; i < n; ++i) d[i * n + i] = 0;
  for (int i = 0; i < 5 * n; ++i)
    d[random.below(n * n)] = static_cast<float>(random.below(1000) + 1);
  check::Device<float> device(d);
  for (int via = 0; via < n; ++via) {
    LAUNCH(relax, dim3(5, 9), dim3(16, 8), device.get(), n, via);
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x)
        d[y * n + x] = std::min(d[y * n + x], d[y * n + via] + d[via * n + x]);
  }
  EXPECT_SAME(device.read(), d);
}

// ---- the game of life on a torus, with a border of LDS around each tile
__global__ void live(const uint8_t *now, uint8_t *next, int w, int h) {
  __shared__ uint8_t tile[18][18];
  int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    int x = (x0 + i % 18 - 1 + w) % w, y = (y0 + i / 18 - 1 + h) % h;
    tile[i / 18][i % 18] = now[y * w + x];
  }
  __syncthreads();
  int sum = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) sum += tile[threadIdx.y + dy][threadIdx.x + dx];
  uint8_t self = tile[threadIdx.y + 1][threadIdx.x + 1];
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x < w && y < h) next[y * w + x] = sum == 3 || (sum == 4 && self);
}

static void life() {
  const int w = 100, h = 75;
  check::Random random(13);
  std::vector<uint8_t> cells(w * h), next(w * h);
  for (auto &c : cells) c = random.below(3) == 0;
  check::Device<uint8_t> a(cells), b(cells);
  uint8_t *from = a, *to = b;
  for (int step = 0; step < 50; ++step) {
    LAUNCH(live, dim3(7, 5), dim3(16, 16), from, to, w, h);
    std::swap(from, to);
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        int sum = 0;
        for (int dy = h - 1; dy <= h + 1; ++dy)
          for (int dx = w - 1; dx <= w + 1; ++dx) sum += cells[(y + dy) % h * w + (x + dx) % w];
        next[y * w + x] = sum == 3 || (sum == 4 && cells[y * w + x]);
      }
    cells.swap(next);
  }
  EXPECT_SAME(a.read(), cells); // an even number of steps
}

// ---- sparse matrix times vector, a wave per row
__global__ void multiply(const int *first, const int *column, const double *value, const double *x,
                         double *y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
  if (row >= rows) return;
  double sum = 0;
  for (int e = first[row] + lane; e < first[row + 1]; e += warpSize) sum += value[e] * x[column[e]];
  for (int by = warpSize / 2; by > 0; by /= 2) sum += __shfl_down(sum, by);
  if (lane == 0) y[row] = sum;
}

static void sparse() {
  const int rows = 300;
  check::Random random(14);
  std::vector<int> first{0}, column;
  std::vector<double> value, x(rows), want(rows);
  for (auto &v : x) v = static_cast<double>(random.below(1000)) - 500; // sums are exact
  for (int r = 0; r < rows; ++r) {
    for (uint32_t e = random.below(r % 7 ? 10 : 250); e > 0; --e) {
      column.push_back(static_cast<int>(random.below(rows)));
      value.push_back(static_cast<double>(random.below(64)) / 8);
      want[r] += value.back() * x[column.back()];
    }
    first.push_back(static_cast<int>(column.size()));
  }
  check::Device<int> d_first(first), d_column(column);
  check::Device<double> d_value(value), d_x(x), y(rows);
  LAUNCH(multiply, rows * 64 / 256, 256, d_first.get(), d_column.get(), d_value.get(), d_x.get(),
         y.get(), rows);
  EXPECT_SAME(y.read(), want);
}

// ---- Fourier transform of 1024 points in LDS
__global__ void fourier(const float2 *in, float2 *out) {
  __shared__ float2 v[1024];
  const int t = threadIdx.x;
  for (int i = t; i < 1024; i += 512) v[__brev(static_cast<unsigned>(i)) >> 22] = in[i];
  __syncthreads();
  for (int half = 1; half < 1024; half *= 2) {
    int k = t % half, low = t / half * 2 * half + k;
    float s, c;
    sincospif(-static_cast<float>(k) / static_cast<float>(half), &s, &c);
    float2 a = v[low], b = v[low + half];
    float2 turned = {b.x * c - b.y * s, b.x * s + b.y * c};
    v[low] = {a.x + turned.x, a.y + turned.y};
    v[low + half] = {a.x - turned.x, a.y - turned.y};
    __syncthreads();
  }
  for (int i = t; i < 1024; i += 512) out[i] = v[i];
}

static void transform() {
  check::Random random(15);
  std::vector<float2> in(1024);
  for (auto &v : in)
    v = {static_cast<float>(random.real(-1, 1)), static_cast<float>(random.real(-1, 1))};
  check::Device<float2> from(in), to(1024);
  LAUNCH(fourier, 1, 512, from.get(), to.get());
  const auto got = to.read();
  double worst = 0;
  for (int f = 0; f < 1024; ++f) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 1024; ++i)
      sum += std::complex<double>(in[i].x, in[i].y) *
             std::polar(1.0, -2 * M_PI * (f * i % 1024) / 1024);
    worst = std::max(worst, std::abs(sum - std::complex<double>(got[f].x, got[f].y)));
  }
  EXPECT(worst < 2e-4);
}

// ---- LU decomposition with pivots in one block
__global__ void decompose(double *a, int *order, int n) {
  __shared__ int pivot;
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      pivot = k;
      for (int r = k + 1; r < n; ++r)
        if (fabs(a[r * n + k]) > fabs(a[pivot * n + k])) pivot = r;
      int t = order[k];
      order[k] = order[pivot], order[pivot] = t;
    }
    __syncthreads();
    for (int c = threadIdx.x; pivot != k && c < n; c += blockDim.x) {
      double t = a[k * n + c];
      a[k * n + c] = a[pivot * n + c], a[pivot * n + c] = t;
    }
    __syncthreads();
    for (int r = k + 1 + threadIdx.x; r < n; r += blockDim.x) {
      double factor = a[r * n + k] /= a[k * n + k];
      for (int c = k + 1; c < n; ++c) a[r * n + c] -= factor * a[k * n + c];
    }
    __syncthreads();
  }
}

static void decomposition() {
  const int n = 48;
  check::Random random(16);
  std::vector<double> a(n * n);
  for (auto &v : a) v = random.real(-10, 10);
  std::vector<int> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  check::Device<double> device(a);
  check::Device<int> order(rows);
  LAUNCH(decompose, 1, 64, device.get(), order.get(), n);
  const auto lu = device.read();
  rows = order.read();
  double worst = 0;
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) {
      double sum = r <= c ? lu[r * n + c] : 0;
      for (int k = 0; k < std::min(r, c + 1); ++k) sum += lu[r * n + k] * lu[k * n + c];
      worst = std::max(worst, std::abs(sum - a[rows[r] * n + c]));
    }
  EXPECT(worst < 1e-11);
}

int main() {
  breadth_first();
  all_pairs();
  life();
  sparse();
  transform();
  decomposition();
  return check::result();
}
