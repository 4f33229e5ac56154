// How many operations of matrix instructions the software GPU executes in a second of a core, by
// type of the elements: bench_matrix [FOLDER OF THE KERNELS] [GPU]
// Whole products of 1024 x 1024 x 512, per second of time, with so many workers:
// bench_matrix FOLDER products [WORKERS [PRODUCT]]
#include "../../tests/sim/support/test_device.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

using namespace fade::sim;

namespace {

struct Kernel {
  const char *arch, *name;
  double operations; ///< of one instruction: 2 M N K
};
constexpr double kFlat = 2.0 * 32 * 32, kSmall = 2.0 * 16 * 16;
constexpr Kernel kernels[] = {
    {"gfx942", "f16", kFlat * 8},         {"gfx942", "bf16", kFlat * 8},
    {"gfx942", "fp8", kFlat * 16},        {"gfx942", "bf8", kFlat * 16},
    {"gfx942", "i8", kFlat * 16},         {"gfx950", "f16", kFlat * 16},
    {"gfx950", "bf16", kFlat * 16},       {"gfx950", "fp8", kFlat * 64},
    {"gfx950", "bf8", kFlat * 64},        {"gfx950", "fp6", kFlat * 64},
    {"gfx950", "bf6", kFlat * 64},        {"gfx950", "fp4", kFlat * 64},
    {"gfx950", "fp4_scaled", kFlat * 64}, {"gfx950", "fp4_far", kFlat * 64},
    {"gfx950", "i8", kFlat * 32},         {"gfx1151", "f16", kSmall * 16},
    {"gfx1151", "bf16", kSmall * 16},     {"gfx1151", "i8", kSmall * 16},
    {"gfx1201", "f16", kSmall * 16},      {"gfx1201", "bf16", kSmall * 16},
    {"gfx1201", "fp8", kSmall * 16},      {"gfx1201", "bf8", kSmall * 16},
    {"gfx1201", "i8", kSmall * 16}};

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The best of five, in operations per second.
double measure(const std::string &folder, const Kernel &kernel) {
  TestDevice device(kernel.arch, 1);
  CodeObject &code = device.load(read_file(folder + "/bench-matrix-" + kernel.arch + ".hsaco"));
  constexpr uint32_t turns = 500, per_turn = 4, waves = 8;
  const uint32_t items = waves * (std::string_view(kernel.arch).starts_with("gfx9") ? 64 : 32);
  double best = 0;
  for (int i = 0; i < 5; i++) {
    const double start = cpu_seconds();
    const DispatchResult result =
        device.run(code, kernel.name, {items, 1, 1}, {items / waves, 1, 1}, Arguments().add(turns));
    if (result.status != DispatchResult::Status::ok) {
      std::fprintf(stderr, "%s %s: %s\n", kernel.arch, kernel.name, result.message.c_str());
      std::exit(1);
    }
    best = std::max(best, kernel.operations * turns * per_turn * waves / (cpu_seconds() - start));
  }
  return best;
}

// Small integers, which all types can hold: as bytes of the type, from -2 to 2.
template <class T> T small(int value, const char *type);
template <> float small<float>(int value, const char *) { return static_cast<float>(value); }
template <> uint16_t small<uint16_t>(int value, const char *type) {
  const bool brain = std::string_view(type) == "gemm_bf16";
  const uint16_t one = brain ? 0x3f80 : 0x3c00, of[] = {0, one, 0x4000}; // 2 is the same in both
  return static_cast<uint16_t>(of[std::abs(value)] | (value < 0 ? 0x8000 : 0));
}
template <> uint8_t small<uint8_t>(int value, const char *type) {
  if (std::string_view(type) == "gemm_i8") return static_cast<uint8_t>(value);
  const uint8_t of[] = {0, 0x40, 0x48}; // gfx942's fp8: a bias of 8
  return static_cast<uint8_t>(of[std::abs(value)] | (value < 0 ? 0x80 : 0));
}

/// The best of ten, in operations per second; some elements are compared with the host.
template <class T>
double measure_product(const std::string &folder, const char *name, unsigned workers) {
  constexpr uint32_t n = 1024, k = 512;
  TestDevice device("gfx942", workers);
  CodeObject &code = device.load(read_file(folder + "/bench-matrix-gfx942.hsaco"));
  const auto a = device.allocate<T>(n * k), b = device.allocate<T>(n * k);
  const auto c = device.allocate<uint32_t>(n * n);
  const auto value = [](uint32_t i, uint32_t factor) {
    return static_cast<int>(i * factor >> 7) % 5 - 2;
  };
  for (uint32_t i = 0; i < n * k; i++) {
    a[i] = small<T>(value(i % 65536, 12347), name);
    b[i] = small<T>(value(i % 65536, 7919), name);
  }
  double best = 0;
  for (int i = 0; i < 10; i++) {
    const DispatchResult result =
        device.run(code, name, {n, n / 64, 1}, {64, 1, 1},
                   Arguments().add(a.va).add(b.va).add(c.va).add(n).add(k));
    if (result.status != DispatchResult::Status::ok) {
      std::fprintf(stderr, "%s: %s\n", name, result.message.c_str());
      std::exit(1);
    }
    best = std::max(best, 2.0 * n * n * k / result.stats.seconds);
  }
  for (uint32_t at = 0; at < n * n; at += 997) {
    int sum = 0;
    for (uint32_t i = 0; i < k; i++)
      sum += value((at / n * k + i) % 65536, 12347) * value((at % n * k + i) % 65536, 7919);
    const bool is_integer = std::string_view(name) == "gemm_i8";
    const float got =
        is_integer ? static_cast<float>(static_cast<int>(c[at])) : std::bit_cast<float>(c[at]);
    if (got != static_cast<float>(sum)) {
      std::fprintf(stderr, "%s: element %u is %g, not %d\n", name, at, static_cast<double>(got),
                   sum);
      std::exit(1);
    }
  }
  return best;
}

void measure_products(const std::string &folder, unsigned workers, std::string_view only) {
  std::printf("%-10s %10s, %u workers\n", "product", "Gop/s", workers);
  const auto run = [&]<class T>(const char *name, T) {
    if (!only.empty() && only != name) return;
    std::printf("%-10s %10.2f\n", name, measure_product<T>(folder, name, workers) * 1e-9);
    std::fflush(stdout);
  };
  run("gemm_f32", float{});
  run("gemm_f16", uint16_t{});
  run("gemm_bf16", uint16_t{});
  run("gemm_i8", uint8_t{});
  run("gemm_fp8", uint8_t{});
}

} // namespace

int main(int argc, char **argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  if (argc > 2 && std::string_view(argv[2]) == "products") {
    measure_products(folder, argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1,
                     argc > 4 ? argv[4] : "");
    return 0;
  }
  std::printf("%-8s %-11s %10s %12s\n", "GPU", "elements", "Gop/s", "of f16's");
  double of_f16 = 0;
  for (const Kernel &kernel : kernels) {
    if (argc > 2 && std::string_view(argv[2]) != kernel.arch) continue;
    const double speed = measure(folder, kernel);
    if (std::string_view(kernel.name) == "f16") of_f16 = speed;
    std::printf("%-8s %-11s %10.2f %12.2f\n", kernel.arch, kernel.name, speed * 1e-9,
                speed / of_f16);
    std::fflush(stdout);
  }
}
