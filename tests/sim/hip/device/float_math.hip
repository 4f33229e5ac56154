// Arithmetic of float and double is exactly that of IEEE; the mathematical functions are within a
// few units in the last place of the host's.
#include "../check.h"

#include <cmath>
#include <limits>

template <class T> struct Bits;
template <> struct Bits<float> {
  using U = uint32_t;
  using Wide = double;
};
template <> struct Bits<double> {
  using U = uint64_t;
  using Wide = long double;
};

constexpr int exact_results = 17;

template <class T> static __host__ __device__ void exact(T a, T b, T c, T *r) {
  int n = 0;
  r[n++] = a + b, r[n++] = a - b, r[n++] = a * b, r[n++] = a / b;
  r[n++] = std::fma(a, b, c), r[n++] = sqrt(fabs(a)), r[n++] = floor(a), r[n++] = ceil(a);
  r[n++] = trunc(a), r[n++] = rint(a), r[n++] = fmin(a, b), r[n++] = fmax(a, b);
  r[n++] = copysign(a, b),
  r[n++] = static_cast<T>(a < b) + 2 * static_cast<T>(a == b) + 4 * static_cast<T>(a >= b);
  r[n++] = ldexp(a, static_cast<int>(fmin(fmax(c, T(-50)), T(50))));
  r[n++] = static_cast<T>(static_cast<int64_t>(fmin(fmax(a, T(-1e18)), T(1e18))));
  r[n++] = static_cast<T>(a != a) + 2 * static_cast<T>(fabs(b) > T(1e38)) +
           4 * static_cast<T>(copysign(T(1), c) < 0);
}

template <class T> __global__ void exact_kernel(const T *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) exact(in[3 * i], in[3 * i + 1], in[3 * i + 2], out + exact_results * i);
}

template <class T> static T any_number(check::Random &random) {
  using U = typename Bits<T>::U;
  switch (random.below(8)) {
  case 0: {
    const T special[] = {0,
                         -T(0),
                         1,
                         -1,
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::min(),
                         T(0.5),
                         T(1.5),
                         T(2.5),
                         -T(0.5)};
    return special[random.below(14)];
  }
  case 1: { // any bits
    U bits = static_cast<U>(random.next());
    T v;
    std::memcpy(&v, &bits, sizeof v);
    // fmin and fmax of signalling NaNs differ between libraries
    return std::isnan(v) ? std::numeric_limits<T>::quiet_NaN() : v;
  }
  case 2: return static_cast<T>(random.real(-1, 1)) * std::numeric_limits<T>::min(); // denormal
  case 3: return static_cast<T>(random.below(100));
  default:
    return static_cast<T>(std::ldexp(random.real(-1, 1), static_cast<int>(random.below(40)) - 20));
  }
}

// NaN is NaN: which one is not said. So is which zero fmin and fmax give for two zeros.
template <class T> static bool alike(T got, T want, int which) {
  if (std::isnan(want)) return std::isnan(got);
  if ((which == 10 || which == 11) && want == 0) return got == 0;
  return std::memcmp(&got, &want, sizeof got) == 0;
}

template <class T> static void exact_operations() {
  const int n = 20000;
  check::Random random(sizeof(T));
  std::vector<T> in(3 * n), want(exact_results * n);
  for (T &v : in) v = any_number<T>(random);
  check::Device<T> from(in), to(exact_results * n);
  LAUNCH(exact_kernel<T>, (n + 255) / 256, 256, from.get(), to.get(), n);
  auto got = to.read();
  for (int i = 0; i < n; ++i) {
    exact(in[3 * i], in[3 * i + 1], in[3 * i + 2], want.data() + exact_results * i);
    for (int r = 0; r < exact_results; ++r) {
      T g = got[exact_results * i + r], w = want[exact_results * i + r];
      if (!alike(g, w, r))
        check::report(false, __FILE__, __LINE__,
                      "operation " + check::show(r) + " of " + check::show(in[3 * i]) + ", " +
                          check::show(in[3 * i + 1]) + ", " + check::show(in[3 * i + 2]) + " is " +
                          check::show(g) + ", not " + check::show(w));
    }
  }
  EXPECT(check::failed == 0);
}

constexpr int functions = 20;
template <class T> static __host__ __device__ void functions_of(T x, T y, T *r) {
  int n = 0;
  r[n++] = sin(x), r[n++] = cos(x), r[n++] = tan(x), r[n++] = exp(x), r[n++] = log(y),
  r[n++] = log2(y), r[n++] = log10(y);
  r[n++] = exp2(x), r[n++] = pow(y, x), r[n++] = atan(x), r[n++] = atan2(x, y), r[n++] = sinh(x),
  r[n++] = tanh(x);
  r[n++] = cbrt(x), r[n++] = hypot(x, y), r[n++] = erf(x), r[n++] = expm1(x), r[n++] = log1p(y),
  r[n++] = fmod(x, y);
  r[n++] = asin(x / 11);
}
template <class T> __global__ void functions_kernel(const T *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) functions_of(in[2 * i], in[2 * i + 1], out + functions * i);
}

template <class T> static double units_apart(T got, T want) {
  if (std::isnan(want) || std::isinf(want))
    return (std::isnan(want) ? std::isnan(got) : got == want) ? 0 : 1e9;
  T unit = std::nextafter(std::fabs(want), std::numeric_limits<T>::infinity()) - std::fabs(want);
  return static_cast<double>(std::fabs(got - want) / unit);
}

template <class T> static void approximate_functions() {
  const int n = 5000;
  check::Random random(77);
  std::vector<T> in(2 * n);
  for (int i = 0; i < n; ++i)
    in[2 * i] = static_cast<T>(random.real(-10, 10)),
           in[2 * i + 1] = static_cast<T>(random.real(0.001, 50));
  check::Device<T> from(in), to(functions * n);
  LAUNCH(functions_kernel<T>, (n + 255) / 256, 256, from.get(), to.get(), n);
  auto got = to.read();
  std::vector<T> want(functions);
  std::vector<double> worst(functions);
  for (int i = 0; i < n; ++i) {
    functions_of(in[2 * i], in[2 * i + 1], want.data());
    for (int f = 0; f < functions; ++f)
      worst[f] = std::max(worst[f], units_apart(got[functions * i + f], want[f]));
  }
  for (int f = 0; f < functions;
       ++f) // 4 by the OpenCL and HIP tables for most, of which 1 is the host's own
    check::report(worst[f] <= 5, __FILE__, __LINE__,
                  "function " + check::show(f) + " is " + check::show(worst[f]) + " units off");
}

__global__ void roundings(const double *in, float *f, int *i, double *d) {
  double v = in[threadIdx.x];
  float *to = f + 4 * threadIdx.x;
  to[0] = __double2float_rn(v), to[1] = static_cast<float>(v),
  to[2] = __ll2float_rn(static_cast<long long>(v)),
  to[3] = __uint2float_rn(static_cast<unsigned>(fabs(v)));
  int *ints = i + 3 * threadIdx.x;
  ints[0] = __double2int_rn(v), ints[1] = __float2int_rn(static_cast<float>(v)),
  ints[2] = __double2int_rz(v);
  d[threadIdx.x] = __hiloint2double(__double2hiint(v), __double2loint(v));
}

static void conversions() {
  check::Random random(5);
  std::vector<double> in(256);
  for (double &v : in)
    v = random.below(2) ? random.real(-1e6, 1e6) : static_cast<int>(random.below(1000)) * 0.5 - 250;
  check::Device<double> from(in), same(256);
  check::Device<float> f(4 * 256);
  check::Device<int> ints(3 * 256);
  LAUNCH(roundings, 1, 256, from.get(), f.get(), ints.get(), same.get());
  std::vector<float> want_f(4 * 256);
  std::vector<int> want_i(3 * 256);
  for (int i = 0; i < 256; ++i) {
    double v = in[i];
    want_f[4 * i] = want_f[4 * i + 1] = static_cast<float>(v);
    want_f[4 * i + 2] = static_cast<float>(static_cast<long long>(v));
    want_f[4 * i + 3] = static_cast<float>(static_cast<unsigned>(std::fabs(v)));
    want_i[3 * i] = static_cast<int>(std::nearbyint(v));
    want_i[3 * i + 1] = static_cast<int>(std::nearbyint(static_cast<float>(v)));
    want_i[3 * i + 2] = static_cast<int>(v);
  }
  EXPECT_SAME(f.read(), want_f);
  EXPECT_SAME(ints.read(), want_i);
  EXPECT_SAME(same.read(), in);
}

int main() {
  exact_operations<float>();
  exact_operations<double>();
  approximate_functions<float>();
  approximate_functions<double>();
  conversions();
  return check::result();
}
