// Work shared by a block through LDS and barriers: matrix product, transposition, sorting,
// stencils, and barriers that count.
#include "../check.h"

#include <algorithm>

// ---- tiled matrix product, exact in float because the numbers are small integers
template <int tile> __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float left[tile][tile], right[tile][tile + 1];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (int t = 0; t < n; t += tile) {
    left[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0;
    right[y][x] = column < n && t + y < n ? b[(t + y) * n + column] : 0;
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

template <int tile> static void products(int n) {
  std::vector<float> a(n * n), b(n * n), want(n * n);
  check::Random random(n);
  for (auto &v : a) v = static_cast<float>(static_cast<int>(random.below(21)) - 10);
  for (auto &v : b) v = static_cast<float>(static_cast<int>(random.below(21)) - 10);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) want[i * n + j] += a[i * n + k] * b[k * n + j];
  check::Device<float> da(a), db(b), dc(n * n);
  int blocks = (n + tile - 1) / tile;
  LAUNCH(multiply<tile>, dim3(blocks, blocks), dim3(tile, tile), da.get(), db.get(), dc.get(), n);
  EXPECT_SAME(dc.read(), want);
}

// ---- transposition of bytes, words and pairs of doubles
template <class T> __global__ void transpose(const T *in, T *out, int w, int h) {
  __shared__ T tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}

struct Pair {
  double a, b;
};
static std::ostream &operator<<(std::ostream &out, const Pair &p) {
  return out << p.a << '/' << p.b;
}

template <class T> static void transposed(int w, int h) {
  auto bytes = check::Random(w).bytes<uint8_t>(sizeof(T) * w * h);
  std::vector<T> in(w * h), want(w * h);
  std::memcpy(in.data(), bytes.data(), bytes.size());
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) want[x * h + y] = in[y * w + x];
  check::Device<T> from(in), to(w * h);
  LAUNCH(transpose<T>, dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16), from.get(), to.get(), w,
         h);
  EXPECT_SAME(to.read(), want);
}

// ---- bitonic sort of a block's elements
__global__ void bitonic(uint32_t *x, int n) {
  __shared__ uint32_t tile[2048];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[blockIdx.x * n + i];
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int other = i ^ j;
        if (other > i && (tile[i] > tile[other]) == ((i & k) == 0)) {
          uint32_t t = tile[i];
          tile[i] = tile[other];
          tile[other] = t;
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = tile[i];
}

static void sorted(int n, int blocks) {
  auto in = check::Random(n).bytes<uint32_t>(n * blocks);
  check::Device<uint32_t> x(in);
  LAUNCH(bitonic, blocks, 256, x.get(), n);
  for (int b = 0; b < blocks; ++b) std::sort(in.begin() + b * n, in.begin() + (b + 1) * n);
  EXPECT_SAME(x.read(), in);
}

// ---- barriers that tell how many, whether all, whether any
__global__ void counting(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = __syncthreads_count(in[i] % 3 == 0), all = __syncthreads_and(in[i] >= 0),
      any = __syncthreads_or(in[i] == 77);
  out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

static void counting_barriers() {
  const int size = 320, blocks = 4;
  std::vector<int> in(size * blocks), want(size * blocks);
  check::Random random(5);
  for (int i = 0; i < size * blocks; ++i)
    in[i] = i / size == 1 ? -static_cast<int>(random.below(60)) : random.below(60);
  in[2 * size + 311] = 77;
  for (int b = 0; b < blocks; ++b) {
    auto first = in.begin() + b * size, last = first + size;
    int count = static_cast<int>(std::count_if(first, last, [](int v) { return v % 3 == 0; }));
    bool all = std::all_of(first, last, [](int v) { return v >= 0; }),
         any = std::count(first, last, 77) > 0;
    std::fill_n(want.begin() + b * size, size, count * 4 + all * 2 + any);
  }
  check::Device<int> from(in), to(size * blocks);
  LAUNCH(counting, blocks, size, from.get(), to.get());
  EXPECT_SAME(to.read(), want);
}

// ---- waves of one block that leave early do not hold up the others' barriers
__global__ void leaving(int *out) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  for (unsigned wave = 0;; ++wave) {
    if (threadIdx.x / warpSize == wave) {
      if (threadIdx.x % warpSize == 0) out[wave] = ++turn;
      return;
    }
    __syncthreads();
  }
}

static void early_leavers(int warp) {
  check::Device<int> out(1024 / warp);
  LAUNCH(leaving, 1, 1024, out.get());
  std::vector<int> want(1024 / warp);
  for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<int>(i) + 1;
  EXPECT_SAME(out.read(), want);
}

int main() {
  products<16>(48);
  products<32>(70);
  products<8>(33);
  transposed<uint8_t>(100, 37);
  transposed<uint32_t>(64, 64);
  transposed<Pair>(33, 50);
  sorted(64, 5);
  sorted(2048, 3);
  counting_barriers();
  early_leavers(check::architecture().rfind("gfx9", 0) == 0 ? 64 : 32);
  return check::result();
}
