// Runs kernels that hiprtc compiles for the GPU that is there: gpus SOURCE [racy|split|early]
// Prints what the GPU is, and what is wrong.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const auto status = static_cast<int>(call);                                                    \
    if (status != 0) {                                                                             \
      std::printf("%s: %d\n", #call, status);                                                      \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

namespace {

std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string compiled(const char *path) {
  hiprtcProgram program;
  CHECK(hiprtcCreateProgram(&program, readFile(path).c_str(), path, 0, nullptr, nullptr));
  const char *options[] = {"-gline-tables-only"};
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    std::size_t size = 0;
    CHECK(hiprtcGetProgramLogSize(program, &size));
    std::string log(size, 0);
    CHECK(hiprtcGetProgramLog(program, log.data()));
    std::printf("%s\n", log.c_str());
    std::exit(1);
  }
  std::size_t size = 0;
  CHECK(hiprtcGetCodeSize(program, &size));
  std::string code(size, 0);
  CHECK(hiprtcGetCode(program, code.data()));
  CHECK(hiprtcDestroyProgram(&program));
  return code;
}

hipModule_t module;
int wrong = 0;

void run(const char *name, unsigned groups, unsigned items,
         std::initializer_list<const void *> arguments, unsigned lds = 0) {
  hipFunction_t kernel;
  CHECK(hipModuleGetFunction(&kernel, module, name));
  std::vector<void *> pointers;
  for (const void *argument : arguments) pointers.push_back(const_cast<void *>(argument));
  CHECK(hipModuleLaunchKernel(kernel, groups, 1, 1, items, 1, 1, lds, nullptr, pointers.data(),
                              nullptr));
  CHECK(hipDeviceSynchronize());
}

template <class T> std::vector<T> copied(const void *from, std::size_t count) {
  std::vector<T> to(count);
  CHECK(hipMemcpy(to.data(), from, count * sizeof(T), hipMemcpyDeviceToHost));
  return to;
}

void expect(const char *what, std::size_t at, double is, double should) {
  if (is == should || wrong++ > 10) return;
  std::printf("%s: %zu is %g instead of %g\n", what, at, is, should);
}

unsigned stepsOf(unsigned x) {
  unsigned count = 0;
  for (; x != 1; ++count) x = x % 2 ? 3 * x + 1 : x / 2;
  return count;
}

void all(const hipDeviceProp_t &gpu, char *a, char *b, char *c) {
  constexpr int n = 10000;
  std::vector<float> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = static_cast<float>(i % 16);
  CHECK(hipMemcpy(a, numbers.data(), n * 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(b, numbers.data(), n * 4, hipMemcpyHostToDevice));
  run("add", 40, 256, {&a, &b, &c, &n});
  const auto sums = copied<float>(c, n);
  for (int i = 0; i < n; ++i) expect("add", i, sums[i], 2.0 * numbers[i]);

  CHECK(hipMemset(c, 0, 4));
  run("reduce", 40, 256, {&a, &c, &n});
  expect("reduce", 0, copied<float>(c, 1)[0], 75000);

  run("steps", 4, 100, {&c});
  const auto steps = copied<unsigned>(c, 400);
  for (unsigned i = 0; i < 400; ++i) expect("steps", i, steps[i], stepsOf(i + 1));

  const auto words = static_cast<unsigned>(gpu.sharedMemPerBlock / 4);
  run("reverse", 1, 256, {&c, &words}, words * 4);
  const auto reversed = copied<unsigned>(c, words);
  for (unsigned i = 0; i < words; ++i) expect("reverse", i, reversed[i], 3.0 * (words - 1 - i));

  const int number = 42;
  run("say", 1, 64, {&number});

  run("product", 1, static_cast<unsigned>(gpu.warpSize), {&c, &b});
  const auto product = copied<float>(c, 256);
  const int depth = copied<int>(b, 1)[0];
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) sum += (i * 3 + k * 5) % 9 * ((k * 7 + j * 2) % 9);
      if (depth) expect("product", i * 16 + j, product[i * 16 + j], sum);
    }
  std::printf("a product of depth %d\n", depth);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  hipDeviceProp_t gpu;
  CHECK(hipGetDeviceProperties(&gpu, 0));
  std::printf("%s, %zu bytes of LDS, waves of %d\n", gpu.name, gpu.sharedMemPerBlock, gpu.warpSize);
  const std::string code = compiled(argv[1]);
  CHECK(hipModuleLoadData(&module, code.data()));
  char *a, *b, *c;
  for (char **each : {&a, &b, &c}) CHECK(hipMalloc(each, 1 << 18));
  const char *what = argc > 2 ? argv[2] : "";
  const int early = std::strcmp(what, "early") == 0;
  if (!*what)
    all(gpu, a, b, c);
  else if (std::strcmp(what, "racy") == 0)
    run("racy", 1, 256, {&c});
  else if (std::strcmp(what, "scaled") == 0 || std::strcmp(what, "overflow") == 0) {
    const float x = *what == 'o' ? 3e30f : 3;
    run("scaled", 1, 256, {&c, &x, &x});
  } else
    run("split", 1, 256, {&c, &early});
  std::printf(wrong ? "wrong\n" : "all right\n");
  return wrong != 0;
}
