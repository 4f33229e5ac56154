// How many operations of matrix instructions the software GPU executes in a second of a core, by
// type of the elements: bench_matrix [FOLDER OF THE KERNELS] [GPU]
#include "../../tests/sim/support/test_device.h"

#include <algorithm>
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

} // namespace

int main(int argc, char **argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
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
