// Loads a code object from a file, as Triton's and OpenCL's runtimes do, runs one kernel and checks
// its result.
//   module_app FILE vector_add|histogram|saxpy
#include <cstdio>
#include <cstring>
#include <hip/hip_runtime.h>
#include <vector>

namespace {

void check(hipError_t error, const char *what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

template <typename T> T *to_device(const std::vector<T> &values) {
  void *memory = nullptr;
  check(hipMalloc(&memory, values.size() * sizeof(T)), "hipMalloc");
  check(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice),
        "hipMemcpy");
  return static_cast<T *>(memory);
}

template <typename T> std::vector<T> from_device(const T *memory, size_t count) {
  std::vector<T> values(count);
  check(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost), "hipMemcpy");
  return values;
}

void launch(hipFunction_t kernel, unsigned groups, std::vector<void *> arguments) {
  check(
      hipModuleLaunchKernel(kernel, groups, 1, 1, 256, 1, 1, 0, nullptr, arguments.data(), nullptr),
      "launch");
}

bool vector_add(hipFunction_t kernel) {
  int n = 1000;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; i++) a[i] = float(i), b[i] = 2.f * float(i);
  float *x = to_device(a), *y = to_device(b), *out = to_device(std::vector<float>(n));
  void *scratch = nullptr; // Triton's two trailing pointers
  launch(kernel, 4, {&x, &y, &out, &n, &scratch, &scratch});
  const auto result = from_device(out, n);
  for (int i = 0; i < n; i++)
    if (result[i] != 3.f * float(i)) return false;
  return true;
}

bool histogram(hipFunction_t kernel) {
  int n = 1000;
  std::vector<int> values(n), wanted(64);
  for (int i = 0; i < n; i++) values[i] = i * i + 7, wanted[values[i] & 63]++;
  int *x = to_device(values), *bins = to_device(std::vector<int>(64));
  void *scratch = nullptr;
  launch(kernel, 4, {&x, &bins, &n, &scratch, &scratch});
  return from_device(bins, 64) == wanted;
}

bool saxpy(hipFunction_t kernel) {
  int n = 1000;
  float a = 3;
  std::vector<float> v(n), w(n);
  for (int i = 0; i < n; i++) v[i] = float(i), w[i] = 5;
  float *x = to_device(v), *y = to_device(w);
  launch(kernel, 4, {&a, &x, &y, &n});
  const auto result = from_device(y, n);
  for (int i = 0; i < n; i++)
    if (result[i] != 3.f * float(i) + 5.f) return false;
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  hipModule_t module{};
  hipFunction_t kernel{};
  check(hipModuleLoad(&module, argv[1]), "hipModuleLoad");
  check(hipModuleGetFunction(&kernel, module, argv[2]), "hipModuleGetFunction");
  const bool is_right = !std::strcmp(argv[2], "vector_add")  ? vector_add(kernel)
                        : !std::strcmp(argv[2], "histogram") ? histogram(kernel)
                                                             : saxpy(kernel);
  std::puts(is_right ? "right" : "wrong");
  return is_right ? 0 : 2;
}
