// Kernels of Triton in 8 and 4 bits, bf16 and integers, with block scales, and attention
// (tests/data/triton/compile.py), against sums in double of what the formats' definitions say that
// their codes are.
#include "../support/test_device.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <random>

namespace fade::sim {
namespace {

/// A format of at most 16 bits: sign, exponent, fraction.
struct Format {
  int exponent, fraction, bias;
  uint32_t largest; ///< code of the largest number; what is beyond is no number
  uint32_t sign() const { return 1u << (exponent + fraction); }
  double value(uint32_t code) const {
    const auto e = static_cast<int>(code >> fraction & ((1u << exponent) - 1));
    const uint32_t f = code & ((1u << fraction) - 1);
    const double size = e ? std::ldexp((1u << fraction) + f, e - bias - fraction)
                          : std::ldexp(f, 1 - bias - fraction);
    return code & sign() ? -size : size;
  }
  /// The code that is nearest to a number within the range, of two the even one.
  uint32_t nearest(double x) const {
    uint32_t best = 0;
    for (uint32_t code = 1; code <= largest; code++) {
      const double better =
          std::fabs(value(best) - std::fabs(x)) - std::fabs(value(code) - std::fabs(x));
      if (better > 0 || (better == 0 && code % 2 == 0)) best = code;
    }
    return best | (std::signbit(x) ? sign() : 0);
  }
};
constexpr Format fp8{4, 3, 7, 0x7e}, bf8{5, 2, 15, 0x7b}, fp8_fnuz{4, 3, 8, 0x7f},
    bf8_fnuz{5, 2, 16, 0x7f}, fp4{2, 1, 1, 7}, f16_format{5, 10, 15, 0x7bff},
    bf16_format{8, 7, 127, 0x7f7f};

struct Matrix {
  std::vector<uint8_t> bytes; ///< by rows
  std::vector<double> values;
};

constexpr uint32_t registers_that_do_not_fit = 1024; ///< bytes of scratch of a lane

class TritonFormats : public testing::TestWithParam<const char *> {
protected:
  TestDevice device{GetParam()};

  void launch(const std::string &file, std::array<uint32_t, 3> programs, Arguments arguments) {
    const std::string base = std::string(FADE_TEST_DATA "/triton/") + GetParam() + "/" + file;
    const auto meta = nlohmann::json::parse(read_file(base + ".json"));
    auto number = [&](const char *key) {
      return static_cast<uint32_t>(std::stoul(meta.at(key).get<std::string>()));
    };
    const uint32_t block = number("num_warps") * number("warp_size");
    CodeObject &object = device.load(read_file(base + ".hsaco"));
    arguments.add<uint64_t>(0).add<uint64_t>(0); // global scratch, profile scratch
    const DispatchResult result = device.run(
        object, meta.at("name").get<std::string>(), {programs[0] * block, programs[1], programs[2]},
        {block, 1, 1}, arguments, number("shared"), registers_that_do_not_fit);
    ASSERT_EQ(result.status, DispatchResult::Status::ok) << file << ": " << result.message;
  }
  static bool has(const std::string &file) {
    return std::filesystem::exists(std::string(FADE_TEST_DATA "/triton/") + GetParam() + "/" +
                                   file + ".hsaco");
  }

  /// Numbers of a format that are at most `most`, all codes as probable.
  Matrix random(const Format &format, size_t count, double most = HUGE_VAL) {
    Matrix m;
    const bool is_wide = format.sign() > 0x80, is_packed = format.sign() == 8;
    for (size_t i = 0; i < count; i++) {
      uint32_t code;
      do code = random_() % (2 * format.sign());
      while ((code & ~format.sign()) > format.largest || std::fabs(format.value(code)) > most ||
             code == format.sign()); // a NaN of FNUZ formats
      m.values.push_back(format.value(code));
      if (is_packed && i % 2) {
        m.bytes.back() |= static_cast<uint8_t>(code << 4);
        continue;
      }
      m.bytes.push_back(static_cast<uint8_t>(code));
      if (is_wide) m.bytes.push_back(static_cast<uint8_t>(code >> 8));
    }
    return m;
  }
  /// b: k x n by rows, or by columns.
  template <class C>
  static void check(const Matrix &a, const Matrix &b, bool by_columns, const C &c, uint32_t m,
                    uint32_t n, uint32_t k, double error) {
    for (uint32_t i = 0; i < m; i++)
      for (uint32_t j = 0; j < n; j++) {
        double sum = 0, size = 0;
        for (uint32_t l = 0; l < k; l++) {
          const double x = a.values[i * k + l] * b.values[by_columns ? j * k + l : l * n + j];
          sum += x, size += std::fabs(x);
        }
        ASSERT_NEAR(c[i * n + j], sum, error * size) << i << "," << j;
      }
  }
  void multiply(const std::string &file, const Format &of_a, const Format &of_b, bool by_columns,
                uint32_t m, uint32_t n, uint32_t k) {
    SCOPED_TRACE(file);
    if (!has(file)) GTEST_SKIP();
    // What is much smaller than the largest would not be seen.
    const Matrix a = random(of_a, m * k, 8), b = random(of_b, k * n, 8);
    auto da = device.upload(a.bytes), db = device.upload(b.bytes);
    auto dc = device.allocate<float>(m * n);
    launch(file, {(m + 31) / 32, (n + 31) / 32, 1},
           Arguments().add(da.va).add(db.va).add(dc.va).add(m).add(n).add(k));
    check(a, b, by_columns, dc, m, n, k, k * std::ldexp(1, -24));
  }
  std::mt19937 random_{7};
};

TEST_P(TritonFormats, ProductsOfBf16WithRaggedEdges) {
  multiply("matmul_bf16", bf16_format, bf16_format, false, 70, 50, 45);
}
TEST_P(TritonFormats, DeepProductsOfF16) {
  multiply("matmul_f16_deep", f16_format, f16_format, true, 64, 96, 192);
}
TEST_P(TritonFormats, ProductsOfFp8WithRaggedEdges) {
  multiply("matmul_fp8", fp8, fp8, false, 40, 70, 100);
}
TEST_P(TritonFormats, ProductsOfBf8WithRaggedEdges) {
  multiply("matmul_bf8", bf8, bf8, false, 40, 70, 100);
}
TEST_P(TritonFormats, ProductsOfFp8AndBf8) {
  multiply("matmul_fp8_bf8", fp8, bf8, true, 64, 32, 128);
}
TEST_P(TritonFormats, ProductsOfTheFormatsWithoutNegativeZero) {
  multiply("matmul_fp8_fnuz", fp8_fnuz, fp8_fnuz, false, 40, 70, 100);
  // Of bf8 and fp8 by its source. Triton 3.6 exchanges A and B, but not their formats.
  multiply("matmul_bf8_fnuz", fp8_fnuz, bf8_fnuz, true, 64, 32, 128);
}
TEST_P(TritonFormats, ProductsOfFp8InBothShapes) {
  multiply("matmul_fp8_deep16", fp8, fp8, true, 64, 32, 256);
  multiply("matmul_fp8_deep32", fp8, fp8, true, 32, 64, 256);
}

TEST_P(TritonFormats, ProductsOfIntegers) {
  const uint32_t m = 64, n = 96, k = 128;
  std::vector<int8_t> a(m * k), b(n * k);
  for (auto *v : {&a, &b})
    for (int8_t &x : *v) x = static_cast<int8_t>(random_());
  auto da = device.upload(a), db = device.upload(b);
  auto dc = device.allocate<int32_t>(m * n);
  launch("matmul_i8", {m / 32, n / 32, 1},
         Arguments().add(da.va).add(db.va).add(dc.va).add(m).add(n).add(k));
  for (uint32_t i = 0; i < m; i++)
    for (uint32_t j = 0; j < n; j++) {
      int32_t sum = 0;
      for (uint32_t l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];
      ASSERT_EQ(dc[i * n + j], sum) << i << "," << j;
    }
}

TEST_P(TritonFormats, ProductsWithBlockScales) {
  struct {
    const char *file;
    const Format &a, &b;
  } const kernels[] = {{"matmul_mxfp4", fp4, fp4},
                       {"matmul_mxfp4_32", fp4, fp4},
                       {"matmul_mxfp8", fp8, fp8},
                       {"matmul_mxbf8_mxfp4", bf8, fp4}};
  size_t ran = 0;
  for (const auto &kernel : kernels) {
    SCOPED_TRACE(kernel.file);
    if (!has(kernel.file)) continue;
    ran++;
    const uint32_t m = 64, n = 128, k = 256;
    Matrix a = random(kernel.a, m * k, 8), b = random(kernel.b, n * k, 8);
    auto scale = [&](Matrix &matrix, uint32_t rows) {
      std::vector<uint8_t> scales(rows * k / 32);
      for (uint8_t &s : scales) s = static_cast<uint8_t>(120 + random_() % 15);
      for (size_t i = 0; i < matrix.values.size(); i++)
        matrix.values[i] = std::ldexp(matrix.values[i], scales[i / 32] - 127);
      return scales;
    };
    const auto of_a = scale(a, m), of_b = scale(b, n);
    auto da = device.upload(a.bytes), sa = device.upload(of_a), db = device.upload(b.bytes),
         sb = device.upload(of_b);
    auto dc = device.allocate<float>(m * n);
    const uint32_t block = std::string(kernel.file) == "matmul_mxfp4_32" ? 64 : 32;
    launch(kernel.file, {m / block, n / block, 1},
           Arguments().add(da.va).add(sa.va).add(db.va).add(sb.va).add(dc.va).add(m).add(n).add(k));
    check(a, b, true, dc, m, n, k, k * std::ldexp(1, -24));
  }
  if (!ran) GTEST_SKIP();
}

TEST_P(TritonFormats, AScaleOf255MakesItsRowNan) {
  if (!has("matmul_mxfp4")) GTEST_SKIP();
  const uint32_t m = 32, n = 32, k = 128;
  const Matrix a = random(fp4, m * k), b = random(fp4, n * k);
  std::vector<uint8_t> scales(m * k / 32, 127), ones(n * k / 32, 127);
  scales[5 * k / 32 + 2] = 255;
  auto da = device.upload(a.bytes), sa = device.upload(scales), db = device.upload(b.bytes),
       sb = device.upload(ones);
  auto dc = device.allocate<float>(m * n);
  launch("matmul_mxfp4", {1, 1, 1},
         Arguments().add(da.va).add(sa.va).add(db.va).add(sb.va).add(dc.va).add(m).add(n).add(k));
  for (uint32_t i = 0; i < m * n; i++) ASSERT_EQ(std::isnan(dc[i]), i / n == 5) << i;
}

TEST_P(TritonFormats, Attention) {
  struct {
    const char *file;
    const Format &format;
    bool is_causal;
    double error; ///< weights are rounded to the format
  } const kernels[] = {{"attention_f16", f16_format, false, 0x1p-10},
                       {"attention_f16_causal", f16_format, true, 0x1p-10},
                       {"attention_bf16", bf16_format, false, 0x1p-7},
                       {"attention_fp8", bf8, false, 0x1p-3}};
  const uint32_t heads = 2, length = 96, depth = 64;
  const float factor = 0.5f;
  for (const auto &kernel : kernels) {
    SCOPED_TRACE(kernel.file);
    if (!has(kernel.file)) continue;
    const Matrix q = random(kernel.format, heads * length * depth, 2),
                 k = random(kernel.format, heads * length * depth, 2),
                 v = random(kernel.format, heads * length * depth, 2);
    auto dq = device.upload(q.bytes), dk = device.upload(k.bytes), dv = device.upload(v.bytes);
    auto out = device.allocate<float>(heads * length * depth);
    launch(kernel.file, {length / 32, heads, 1},
           Arguments().add(dq.va).add(dk.va).add(dv.va).add(out.va).add(length).add(factor));
    for (uint32_t row = 0; row < heads * length; row++) {
      const uint32_t head = row / length * length;
      const uint32_t last = kernel.is_causal ? row - head + 1 : length;
      std::vector<double> weights(last);
      double largest = -HUGE_VAL, total = 0;
      for (uint32_t j = 0; j < last; j++) {
        for (uint32_t d = 0; d < depth; d++)
          weights[j] += q.values[row * depth + d] * k.values[(head + j) * depth + d];
        largest = std::max(largest, weights[j] *= factor);
      }
      for (double &w : weights) total += w = std::exp(w - largest);
      for (uint32_t d = 0; d < depth; d++) {
        double sum = 0, size = 0;
        for (uint32_t j = 0; j < last; j++) {
          const double x = weights[j] * v.values[(head + j) * depth + d] / total;
          sum += x, size += std::fabs(x);
        }
        ASSERT_NEAR(out[row * depth + d], sum, kernel.error * size + 1e-4) << row << "," << d;
      }
    }
  }
}

TEST_P(TritonFormats, NumbersBecomeTheNearestCodes) {
  for (const auto &[file, format] : {std::pair{"to_fp8", fp8}, std::pair{"to_bf8", bf8}}) {
    std::vector<float> x;
    for (uint32_t code = 0; code < format.largest; code++) {
      const auto low = static_cast<float>(format.value(code)),
                 high = static_cast<float>(format.value(code + 1));
      for (const float y : {low, (low + high) / 2, std::nextafter((low + high) / 2, high),
                            std::nextafter((low + high) / 2, low)})
        x.push_back(y), x.push_back(-y);
    }
    const auto n = static_cast<uint32_t>(x.size());
    auto dx = device.upload(x);
    auto out = device.allocate<uint8_t>(n);
    launch(file, {(n + 255) / 256, 1, 1}, Arguments().add(dx.va).add(out.va).add(n));
    for (uint32_t i = 0; i < n; i++)
      ASSERT_EQ(out[i], format.nearest(x[i])) << file << " of " << x[i];
  }
}

TEST_P(TritonFormats, CodesBecomeTheirNumbers) {
  for (const auto &[file, format] : {std::pair{"from_fp8", fp8}, std::pair{"from_bf8", bf8}}) {
    std::vector<uint8_t> codes(256);
    for (uint32_t i = 0; i < 256; i++) codes[i] = static_cast<uint8_t>(i);
    auto dx = device.upload(codes);
    auto out = device.allocate<float>(256);
    launch(file, {1, 1, 1}, Arguments().add(dx.va).add(out.va).add(256u));
    for (uint32_t i = 0; i < 256; i++) {
      if ((i & 0x7f) <= format.largest) ASSERT_EQ(out[i], format.value(i)) << file << " of " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TritonFormats, testing::Values("gfx942", "gfx950", "gfx1151", "gfx1201"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
