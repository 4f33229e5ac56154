// Arguments of all kinds and sizes arrive as they were given.
#include "../check.h"

struct Large {
  uint8_t head;
  uint64_t words[400];
  float tail[7];
};
struct Nested {
  struct Inner {
    short a;
    double b[2];
  } inner[3];
  Large *large;
  bool flag;
};

__global__ void many(double *out, bool a, char b, signed char c, unsigned char d, short e,
                     unsigned short f, int g, unsigned h, long i, unsigned long j, long long k,
                     unsigned long long l, float m, double n, float4 o, double2 p, short3 q, int3 r,
                     const double *s, uchar4 t, long2 u, float v, short2 w, char x, int y,
                     double z) {
  double all[] = {
      double(a),   double(b),   double(c), double(d),   double(e),   double(f),   double(g),
      double(h),   double(i),   double(j), double(k),   double(l),   double(m),   n,
      double(o.x), double(o.w), p.x,       p.y,         double(q.z), double(r.y), *s,
      double(t.w), double(u.y), double(v), double(w.x), double(x),   double(y),   z};
  for (int k2 = 0; k2 < 28; ++k2) out[k2] = all[k2];
}

__global__ void large(Large in, uint64_t *out, int salt) {
  int i = threadIdx.x;
  if (i < 400) out[i] = in.words[i] * 3 + salt;
  if (i == 400) out[i] = in.head;
  if (i > 400 && i < 408) out[i] = static_cast<uint64_t>(in.tail[i - 401]);
}

// Written to in the kernel: each work-item has its own copy.
__global__ void own_copy(Large in, uint64_t *out, int steps) {
  int i = threadIdx.x;
  for (int k = 0; k < steps; ++k) in.words[(i * 7 + k) % 400] += i;
  uint64_t sum = 0;
  for (uint64_t w : in.words) sum += w;
  out[i] = sum;
}

__global__ void nested(Nested n, double *out) {
  out[0] = n.inner[2].b[1] + n.inner[0].a + (n.flag ? 1000 : 0);
  out[1] = static_cast<double>(n.large->words[5]);
}

template <class... T> __global__ void sum_all(int64_t *out, T... values) {
  *out = (int64_t{0} + ... + values);
}

static void sixty_four_arguments() {
  check::Device<int64_t> out(1);
  auto launch = [&](auto... v) { sum_all<<<1, 1>>>(out.get(), v...); };
  launch(1, 2L, short(3), 4u, char(5), 6LL, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
         22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33L, short(34), 35, 36, 37, 38, 39, 40,
         char(41), 42LL, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
         62, 63, 64);
  HIP(hipGetLastError());
  EXPECT_EQ(out.read()[0], 64 * 65 / 2);
}

int main() {
  check::Device<double> out(28), pointed(std::vector<double>{2.5});
  LAUNCH(many, 1, 1, out.get(), true, 'A', -5, 200, -30000, 60000, -2000000000, 4000000000u, -5L,
         6UL, -7000000000LL, 8000000000ULL, 0.5f, -0.25, make_float4(1.5f, 0, 0, -1.5f),
         make_double2(3.25, -3.25), make_short3(0, 0, -9), make_int3(0, 123456, 0), pointed.get(),
         make_uchar4(0, 0, 0, 250), make_long2(0, -12), 77.0f, make_short2(-44, 0), 'z', 5, 1e100);
  EXPECT_SAME(out.read(), (std::vector<double>{
                              1,    65,    -5,   200,    -30000, 60000, -2000000000.0, 4000000000.0,
                              -5,   6,     -7e9, 8e9,    0.5,    -0.25, 1.5,           -1.5,
                              3.25, -3.25, -9,   123456, 2.5,    250,   -12,           77,
                              -44,  122,   5,    1e100}));

  Large big;
  big.head = 99;
  uint64_t sum = 0;
  for (int i = 0; i < 400; ++i) sum += big.words[i] = 1000000007ull * i;
  for (int i = 0; i < 7; ++i) big.tail[i] = i + 0.5f;
  check::Device<uint64_t> words(1024);
  words.fill(0);
  LAUNCH(large, 1, 512, big, words.get(), 11);
  std::vector<uint64_t> want(1024);
  for (int i = 0; i < 400; ++i) want[i] = big.words[i] * 3 + 11;
  want[400] = 99;
  for (int i = 0; i < 7; ++i) want[401 + i] = i;
  EXPECT_SAME(words.read(), want);
  LAUNCH(own_copy, 1, 256, big, words.get(), 500);
  for (int i = 0; i < 256; ++i) want[i] = sum + 500ull * i;
  EXPECT_SAME(words.read(), want);

  check::Device<Large> stored(1);
  HIP(hipMemcpy(stored, &big, sizeof big, hipMemcpyHostToDevice));
  Nested n{};
  n.inner[2].b[1] = 0.125;
  n.inner[0].a = 7;
  n.large = stored;
  n.flag = true;
  LAUNCH(nested, 1, 1, n, out.get());
  EXPECT_EQ(out.read()[0], 1007.125);
  EXPECT_EQ(out.read()[1], 5000000035.0);
  sixty_four_arguments();

  // The same through the plain C entry.
  int salt = 1;
  uint64_t *pointer = words;
  void *args[] = {&big, &pointer, &salt};
  HIP(hipLaunchKernel(reinterpret_cast<const void *>(large), dim3(1), dim3(512), args, 0, nullptr));
  EXPECT_EQ(words.read()[399], big.words[399] * 3 + 1);
  return check::result();
}
