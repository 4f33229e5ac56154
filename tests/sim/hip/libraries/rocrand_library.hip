// The generators of librocrand, called from the host: Philox and Sobol against their definitions,
// distributions against the numbers that they are made of, all against their moments.
#include "../check.h"

#include <rocrand/rocrand.h>

#include <algorithm>
#include <array>
#include <cmath>

#define ROCRAND(call) EXPECT_EQ(static_cast<int>(call), static_cast<int>(ROCRAND_STATUS_SUCCESS))

class Generator {
public:
  explicit Generator(rocrand_rng_type type) {
    ROCRAND(rocrand_create_generator(&handle_, type));
    if (type < ROCRAND_RNG_QUASI_DEFAULT) ROCRAND(rocrand_set_seed(handle_, 20221));
  }
  Generator(const Generator &) = delete;
  ~Generator() { rocrand_destroy_generator(handle_); }

  template <class T, class F> std::vector<T> numbers(size_t n, F generate) {
    check::Device<T> out(n);
    ROCRAND(generate(handle_, out.get(), n));
    return out.read();
  }
  std::vector<unsigned> words(size_t n) { return numbers<unsigned>(n, rocrand_generate); }

private:
  rocrand_generator handle_ = nullptr;
};

// Philox 4x32 with ten rounds, by Salmon, Moraes, Dror and Shaw (2011).
static std::array<unsigned, 4> philox(std::array<unsigned, 4> c, uint64_t key) {
  unsigned k0 = static_cast<unsigned>(key), k1 = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
    const uint64_t a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
    c = {static_cast<unsigned>(b >> 32) ^ c[1] ^ k0, static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ c[3] ^ k1, static_cast<unsigned>(a)};
  }
  return c;
}

static void philox_by_definition() {
  std::vector<unsigned> want;
  for (unsigned i = 0; i < 5000; ++i)
    for (unsigned word : philox({i, 0, 0, 0}, 20221)) want.push_back(word);
  EXPECT_SAME(Generator(ROCRAND_RNG_PSEUDO_PHILOX4_32_10).words(want.size()), want);
}

// The first dimension of a Sobol sequence in the order of Gray's code, and its bits reversed.
static void sobol_by_definition() {
  const unsigned n = 20000;
  std::vector<unsigned> want(n);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned bit = 0; bit < 32; ++bit)
      if ((i ^ i >> 1) >> bit & 1) want[i] |= 0x80000000u >> bit;
  EXPECT_SAME(Generator(ROCRAND_RNG_QUASI_SOBOL32).words(n), want);
}

static void uniform_from_words(rocrand_rng_type type) {
  const size_t n = 30000;
  const auto words = Generator(type).words(n);
  EXPECT_SAME(Generator(type).words(n), words); // the same seed, the same numbers
  const auto real = Generator(type).numbers<float>(n, rocrand_generate_uniform);
  std::vector<float> want(n);
  for (size_t i = 0; i < n; ++i)
    want[i] = std::fma(static_cast<float>(words[i]), 0x1p-32f, 0x1p-32f);
  EXPECT_SAME(real, want);
}

template <class T> static void moments(const std::vector<T> &v, double mean, double deviation) {
  double sum = 0, squares = 0;
  for (T x : v) sum += static_cast<double>(x);
  const double average = sum / static_cast<double>(v.size());
  for (T x : v) squares += (static_cast<double>(x) - average) * (static_cast<double>(x) - average);
  const double spread = std::sqrt(squares / static_cast<double>(v.size()));
  EXPECT(std::abs(average - mean) < 0.03 * deviation);
  EXPECT(std::abs(spread - deviation) < 0.03 * deviation);
}

static void distributions(rocrand_rng_type type) {
  const size_t n = 30000;
  Generator g(type);
  moments(
      g.numbers<float>(n, [](auto h, float *to,
                             size_t count) { return rocrand_generate_normal(h, to, count, 3, 2); }),
      3, 2);
  moments(g.numbers<double>(n,
                            [](auto h, double *to, size_t count) {
                              return rocrand_generate_normal_double(h, to, count, -1, 0.5);
                            }),
          -1, 0.5);
  moments(g.numbers<unsigned>(n,
                              [](auto h, unsigned *to, size_t count) {
                                return rocrand_generate_poisson(h, to, count, 9);
                              }),
          9, 3);
  auto logs = g.numbers<float>(n, [](auto h, float *to, size_t count) {
    return rocrand_generate_log_normal(h, to, count, 0.25f, 1.5f);
  });
  for (float &x : logs) x = std::log(x);
  moments(logs, 0.25, 1.5);
}

int main() {
  philox_by_definition();
  sobol_by_definition();
  for (auto type : {ROCRAND_RNG_PSEUDO_PHILOX4_32_10, ROCRAND_RNG_PSEUDO_XORWOW,
                    ROCRAND_RNG_PSEUDO_MRG32K3A, ROCRAND_RNG_PSEUDO_MTGP32})
    distributions(type);
  // Not XORWOW: to set up its 131072 states takes seconds.
  for (auto type : {ROCRAND_RNG_PSEUDO_PHILOX4_32_10, ROCRAND_RNG_PSEUDO_MTGP32})
    uniform_from_words(type);
  return check::result();
}
