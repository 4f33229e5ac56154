// Integer arithmetic and the integer intrinsics, against the host's.
#include "../check.h"

#include <algorithm>

struct Case {
  uint32_t a, b, c;
  uint64_t x, y;
};
constexpr int results = 40;

static __host__ __device__ void plain(const Case &k, uint64_t *r) {
  int32_t sa = k.a, sb = k.b;
  int64_t sx = k.x, sy = k.y;
  int n = 0;
  r[n++] = k.a + k.b, r[n++] = k.a - k.b, r[n++] = k.a * k.b;
  r[n++] = k.b ? k.a / k.b : 1, r[n++] = k.b ? k.a % k.b : 2;
  bool fits = sb && !(sa == INT32_MIN && sb == -1);
  r[n++] = fits ? sa / sb : 3, r[n++] = fits ? sa % sb : 4;
  r[n++] = k.a << (k.b & 31), r[n++] = k.a >> (k.b & 31), r[n++] = sa >> (k.b & 31);
  r[n++] = k.x + k.y, r[n++] = k.x - k.y, r[n++] = k.x * k.y;
  r[n++] = k.y ? k.x / k.y : 5, r[n++] = k.y ? k.x % k.y : 6;
  bool fits64 = sy && !(sx == INT64_MIN && sy == -1);
  r[n++] = fits64 ? sx / sy : 7, r[n++] = fits64 ? sx % sy : 8;
  r[n++] = k.x << (k.a & 63), r[n++] = k.x >> (k.a & 63), r[n++] = sx >> (k.a & 63);
  r[n++] = k.x < k.y, r[n++] = sx < sy, r[n++] = k.a < k.b, r[n++] = sa < sb;
  r[n++] = static_cast<uint64_t>(static_cast<unsigned __int128>(k.x) * k.y >> 64);
  r[n++] = static_cast<uint64_t>(static_cast<__int128>(sx) * sy >> 64);
  r[n++] = static_cast<int8_t>(k.a) * static_cast<int16_t>(k.b),
  r[n++] = (k.a & k.b) ^ (k.c | ~k.a);
}

__global__ void plain_kernel(const Case *in, uint64_t *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  plain(in[i], out + size_t{1} * i * results);
}

__global__ void intrinsics(const Case *in, uint64_t *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
  Case k = in[i];
  uint64_t *r = out + size_t{1} * i * results;
  r[n++] = __clz(k.a), r[n++] = __clzll(k.x), r[n++] = __ffs(k.a),
  r[n++] = __ffsll(static_cast<unsigned long long>(k.x));
  r[n++] = __popc(k.a), r[n++] = __popcll(k.x), r[n++] = __brev(k.a), r[n++] = __brevll(k.x);
  r[n++] = __mulhi(static_cast<int>(k.a), static_cast<int>(k.b)), r[n++] = __umulhi(k.a, k.b);
  r[n++] = __umul64hi(k.x, k.y), r[n++] = __mul64hi(k.x, k.y);
  r[n++] = __mul24(static_cast<int>(k.a << 8) >> 8, static_cast<int>(k.b << 8) >> 8);
  r[n++] = static_cast<uint32_t>(__umul24(k.a & 0xffffff, k.b & 0xffffff));
  r[n++] = __byte_perm(k.a, k.b, k.c & 0x7777);
  r[n++] = __sad(static_cast<int>(k.a) >> 1, static_cast<int>(k.b) >> 1, k.c),
  r[n++] = __usad(k.a, k.b, k.c);
  r[n++] = __uhadd(k.a >> 1, k.b >> 1);
  r[n++] = __funnelshift_l(k.a, k.b, k.c), r[n++] = __funnelshift_r(k.a, k.b, k.c);
  r[n++] = __bitextract_u32(k.a, k.b % 32, k.c % (32 - k.b % 32));
  r[n++] = min(k.a, k.b), r[n++] = max(static_cast<int>(k.a), static_cast<int>(k.b)),
  r[n++] = abs(static_cast<int>(k.a >> 1));
}

static uint32_t reversed(uint32_t v) {
  uint32_t r = 0;
  for (int b = 0; b < 32; ++b) r |= (v >> b & 1) << (31 - b);
  return r;
}
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i)
    r |= static_cast<uint32_t>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}

static void intrinsics_on_the_host(const Case &k, uint64_t *r) {
  int n = 0;
  int32_t sa = k.a, sb = k.b;
  auto difference = [](int64_t a, int64_t b) { return static_cast<uint32_t>(std::abs(a - b)); };
  r[n++] = k.a ? __builtin_clz(k.a) : 32, r[n++] = k.x ? __builtin_clzll(k.x) : 64;
  r[n++] = __builtin_ffs(k.a), r[n++] = __builtin_ffsll(k.x);
  r[n++] = __builtin_popcount(k.a), r[n++] = __builtin_popcountll(k.x);
  r[n++] = reversed(k.a),
  r[n++] = uint64_t{reversed(static_cast<uint32_t>(k.x))} << 32 | reversed(k.x >> 32);
  r[n++] = static_cast<int>(static_cast<int64_t>(sa) * sb >> 32),
  r[n++] = static_cast<uint64_t>(k.a) * k.b >> 32;
  r[n++] = static_cast<uint64_t>(static_cast<unsigned __int128>(k.x) * k.y >> 64);
  r[n++] = static_cast<uint64_t>(
      static_cast<__int128>(static_cast<int64_t>(k.x)) * static_cast<int64_t>(k.y) >> 64);
  r[n++] = static_cast<int32_t>(
      static_cast<uint32_t>((sa << 8 >> 8) * static_cast<int64_t>(sb << 8 >> 8)));
  r[n++] = static_cast<uint32_t>(uint64_t{k.a & 0xffffff} * (k.b & 0xffffff));
  r[n++] = permuted(k.a, k.b, k.c & 0x7777);
  r[n++] = difference(sa >> 1, sb >> 1) + k.c, r[n++] = difference(k.a, k.b) + k.c;
  r[n++] = ((k.a >> 1) + (k.b >> 1)) >> 1;
  uint64_t both = uint64_t{k.b} << 32 | k.a;
  r[n++] = static_cast<uint32_t>(both << (k.c & 31) >> 32),
  r[n++] = static_cast<uint32_t>(both >> (k.c & 31));
  uint32_t from = k.b % 32, width = k.c % (32 - from);
  r[n++] = k.a >> from & ((1u << width) - 1);
  r[n++] = std::min(k.a, k.b), r[n++] = std::max(sa, sb), r[n++] = k.a >> 1;
}

int main() {
  const int n = 4096;
  const uint64_t edges[] = {
      0,    1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
      ~0ull};
  check::Random random(1);
  std::vector<Case> in(n);
  for (int i = 0; i < n; ++i) {
    auto pick = [&]() -> uint64_t { // edges, small numbers, numbers of all lengths
      switch (random.below(4)) {
      case 0: return edges[random.below(10)];
      case 1: return random.below(20) - 10ull;
      default: return random.next() >> random.below(64);
      }
    };
    in[i] = {static_cast<uint32_t>(pick()), static_cast<uint32_t>(pick()),
             static_cast<uint32_t>(random.next()), pick(), pick()};
  }
  check::Device<Case> from(in);
  check::Device<uint64_t> to(size_t{n} * results);
  std::vector<uint64_t> want(size_t{n} * results);
  to.fill(0);
  LAUNCH(plain_kernel, n / 256, 256, from.get(), to.get());
  for (int i = 0; i < n; ++i) plain(in[i], want.data() + size_t{1} * i * results);
  EXPECT_SAME(to.read(), want);

  to.fill(0);
  std::fill(want.begin(), want.end(), 0);
  LAUNCH(intrinsics, n / 256, 256, from.get(), to.get());
  for (int i = 0; i < n; ++i) intrinsics_on_the_host(in[i], want.data() + size_t{1} * i * results);
  EXPECT_SAME(to.read(), want);
  return check::result();
}
