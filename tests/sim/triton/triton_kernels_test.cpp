// Real code objects of Triton, for all four architectures, against references computed on the host.
#include "../support/test_device.h"

#include "semantics/values.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

namespace fade::sim {
namespace {

class Triton : public testing::TestWithParam<const char *> {
protected:
  TestDevice device{GetParam()};

  // Loads and runs one kernel; `arguments` are those of the Python function.
  DispatchResult launch(const std::string &kernel, std::array<uint32_t, 3> programs,
                        Arguments arguments) {
    const std::string base = std::string(FADE_TEST_DATA "/triton/") + GetParam() + "/" + kernel;
    const auto meta = nlohmann::json::parse(read_file(base + ".json"));
    auto number = [&](const char *key) {
      return static_cast<uint32_t>(std::stoul(meta.at(key).get<std::string>()));
    };
    const uint32_t block = number("num_warps") * number("warp_size");
    CodeObject &object = device.load(read_file(base + ".hsaco"));
    arguments.add<uint64_t>(0).add<uint64_t>(0); // global scratch, profile scratch
    return device.run(object, kernel, {programs[0] * block, programs[1], programs[2]},
                      {block, 1, 1}, arguments, number("shared"));
  }
  std::vector<float> random_floats(size_t n, float scale = 1) {
    std::uniform_real_distribution<float> d(-scale, scale);
    std::vector<float> v(n);
    for (float &x : v) x = d(random_);
    return v;
  }
  std::mt19937 random_{42};
};

#define ASSERT_RAN(result)                                                                         \
  do {                                                                                             \
    const DispatchResult r_ = (result);                                                            \
    ASSERT_EQ(r_.status, DispatchResult::Status::ok) << r_.message;                                \
  } while (0)

TEST_P(Triton, VectorAddIsExactAndStopsAtN) {
  const uint32_t n = 1000;
  const auto x = random_floats(n), y = random_floats(n);
  auto dx = device.upload(x), dy = device.upload(y), out = device.allocate<float>(1024);
  ASSERT_RAN(launch("vector_add", {4, 1, 1}, Arguments().add(dx.va).add(dy.va).add(out.va).add(n)));
  for (uint32_t i = 0; i < 1024; i++) ASSERT_EQ(out[i], i < n ? x[i] + y[i] : 0.0f) << i;
}

TEST_P(Triton, StridedCopyReadsEveryThirdElement) {
  const uint32_t n = 700, stride = 3;
  const auto x = random_floats(n * stride);
  auto dx = device.upload(x), out = device.allocate<float>(768);
  ASSERT_RAN(
      launch("strided_copy", {3, 1, 1}, Arguments().add(dx.va).add(out.va).add(n).add(stride)));
  for (uint32_t i = 0; i < 768; i++) ASSERT_EQ(out[i], i < n ? x[i * stride] : 0.0f) << i;
}

TEST_P(Triton, HistogramCountsEveryValue) {
  const uint32_t n = 5000;
  std::vector<int32_t> x(n), expected(64);
  for (auto &v : x) v = static_cast<int32_t>(random_()), expected[v & 63]++;
  auto dx = device.upload(x);
  auto bins = device.allocate<int32_t>(64);
  ASSERT_RAN(
      launch("histogram", {(n + 255) / 256, 1, 1}, Arguments().add(dx.va).add(bins.va).add(n)));
  for (int i = 0; i < 64; i++) EXPECT_EQ(bins[i], expected[i]) << i;
}

TEST_P(Triton, SoftmaxAgreesWithDoublePrecision) {
  const uint32_t rows = 5, n = 781, stride = 800;
  const auto x = random_floats(rows * stride, 8);
  auto dx = device.upload(x), out = device.allocate<float>(rows * stride);
  ASSERT_RAN(
      launch("softmax", {rows, 1, 1}, Arguments().add(out.va).add(dx.va).add(stride).add(n)));
  for (uint32_t r = 0; r < rows; r++) {
    double largest = -1e30, sum = 0;
    for (uint32_t i = 0; i < n; i++) largest = std::max<double>(largest, x[r * stride + i]);
    for (uint32_t i = 0; i < n; i++) sum += std::exp(x[r * stride + i] - largest);
    for (uint32_t i = 0; i < n; i++) {
      const double expected = std::exp(x[r * stride + i] - largest) / sum;
      ASSERT_NEAR(out[r * stride + i], expected, 1e-5 * expected + 1e-12) << r << "," << i;
    }
    for (uint32_t i = n; i < stride; i++) ASSERT_EQ(out[r * stride + i], 0.0f);
  }
}

TEST_P(Triton, LayerNormAgreesWithDoublePrecision) {
  const uint32_t rows = 3, n = 500, stride = 512;
  const float eps = 1e-5f;
  const auto x = random_floats(rows * stride, 4), weight = random_floats(n),
             bias = random_floats(n);
  auto dx = device.upload(x), dw = device.upload(weight), db = device.upload(bias),
       out = device.allocate<float>(rows * stride);
  ASSERT_RAN(
      launch("layer_norm", {rows, 1, 1},
             Arguments().add(out.va).add(dx.va).add(dw.va).add(db.va).add(stride).add(n).add(eps)));
  for (uint32_t r = 0; r < rows; r++) {
    double mean = 0, var = 0;
    for (uint32_t i = 0; i < n; i++) mean += x[r * stride + i];
    mean /= n;
    for (uint32_t i = 0; i < n; i++) var += (x[r * stride + i] - mean) * (x[r * stride + i] - mean);
    var /= n;
    for (uint32_t i = 0; i < n; i++) {
      const double expected =
          (x[r * stride + i] - mean) / std::sqrt(var + eps) * weight[i] + bias[i];
      ASSERT_NEAR(out[r * stride + i], expected, 2e-5) << r << "," << i;
    }
  }
}

// C = A * B, each element within `error` of the sum of its products' magnitudes.
template <class T>
void check_product(const std::vector<double> &a, const std::vector<double> &b, const T &c,
                   uint32_t m, uint32_t n, uint32_t k, double error) {
  for (uint32_t i = 0; i < m; i++)
    for (uint32_t j = 0; j < n; j++) {
      double sum = 0, magnitude = 0;
      for (uint32_t l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * n + j], magnitude += std::abs(a[i * k + l] * b[l * n + j]);
      ASSERT_NEAR(c[i * n + j], sum, error * magnitude) << i << "," << j;
    }
}

TEST_P(Triton, MatmulWithRaggedEdges) {
  const uint32_t m = 70, n = 50, k = 45;
  const auto a = random_floats(m * k), b = random_floats(k * n);
  auto da = device.upload(a), db = device.upload(b), dc = device.allocate<float>(m * n);
  ASSERT_RAN(launch("matmul", {(m + 31) / 32, (n + 31) / 32, 1},
                    Arguments()
                        .add(da.va)
                        .add(db.va)
                        .add(dc.va)
                        .add(m)
                        .add(n)
                        .add(k)
                        .add(k)
                        .add(1u)
                        .add(n)
                        .add(1u)
                        .add(n)
                        .add(1u)));
  // Triton's f32 product on gfx942 is made of xf32 instructions, which round each factor to 11
  // digits.
  const double error =
      device.arch().id == Gfx::gfx942 ? std::ldexp(1.01, -10) : k * std::ldexp(1, -24);
  check_product({a.begin(), a.end()}, {b.begin(), b.end()}, dc, m, n, k, error);
}

TEST_P(Triton, HalfPrecisionMatmul) {
  const uint32_t m = 128, n = 64, k = 96;
  std::vector<uint16_t> a(m * k), b(k * n);
  std::vector<double> wide_a, wide_b;
  auto fill = [&](std::vector<uint16_t> &v, std::vector<double> &wide) {
    for (auto &x : v) {
      x = to_f16(random_floats(1)[0]).bits;
      wide.push_back(to_f32(f16{x}));
    }
  };
  fill(a, wide_a), fill(b, wide_b);
  auto da = device.upload(a), db = device.upload(b);
  auto dc = device.allocate<float>(m * n);
  ASSERT_RAN(launch("matmul_f16", {m / 64, n / 64, 1},
                    Arguments()
                        .add(da.va)
                        .add(db.va)
                        .add(dc.va)
                        .add(m)
                        .add(n)
                        .add(k)
                        .add(k)
                        .add(1u)
                        .add(n)
                        .add(1u)
                        .add(n)
                        .add(1u)));
  check_product(wide_a, wide_b, dc, m, n, k, k * std::ldexp(1, -24));
}

INSTANTIATE_TEST_SUITE_P(, Triton,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx908",
                                         "gfx950", "gfx1151", "gfx1201"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
