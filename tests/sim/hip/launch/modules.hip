// Code objects are loaded from a file and from memory, found by name, launched in both ways, and
// unloaded. The argument is the code object's file.
#include "../check.h"

#include <fstream>
#include <iterator>

struct Pair {
  char tag;
  double value;
};

static std::vector<char> bytes_of(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static void shift_by_global(hipModule_t module) {
  hipFunction_t shift;
  HIP(hipModuleGetFunction(&shift, module, "shift"));
  hipDeviceptr_t offset;
  size_t size;
  HIP(hipModuleGetGlobal(&offset, &size, module, "offset"));
  EXPECT_EQ(size, sizeof(int));
  int value = 0;
  HIP(hipMemcpyDtoH(&value, offset, sizeof value));
  EXPECT_EQ(value, 3);
  value = -7;
  HIP(hipMemcpyHtoD(offset, &value, sizeof value));

  const int n = 700;
  std::vector<int> start(n), want(n);
  for (int i = 0; i < n; ++i) start[i] = i, want[i] = i - 7;
  check::Device<int> x(start);
  int *px = x, count = n;
  void *args[] = {&px, &count};
  HIP(hipModuleLaunchKernel(shift, 3, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr));
  EXPECT_SAME(x.read(), want);
}

// The application packs the arguments itself.
static void launch_from_a_buffer(hipModule_t module) {
  hipFunction_t combine;
  HIP(hipModuleGetFunction(&combine, module, "combine"));
  check::Device<double> out(64);
  struct {
    double *out;
    char a;
    short b;
    int c;
    long long d;
    float e;
    Pair p;
    char last;
  } block = {out, 1, -2, 3, -4, 0.5f, {7, 0.25}, 9};
  size_t size = sizeof block;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(combine, 1, 1, 1, 64, 1, 1, 64 * sizeof(double), nullptr, nullptr,
                            extra));
  const double sum = 1 - 20 + 300 - 4000 + 0.5 + 7 + 0.25 + 9;
  std::vector<double> want(64);
  for (int i = 0; i < 64; ++i) want[i] = sum * (1 << i % 4);
  EXPECT_SAME(out.read(), want);
}

static void unknown_things_are_refused(hipModule_t module, const char *path) {
  hipFunction_t none;
  EXPECT_EQ(hipModuleGetFunction(&none, module, "no_such_kernel"), hipErrorNotFound);
  hipDeviceptr_t address;
  size_t size;
  EXPECT(hipModuleGetGlobal(&address, &size, module, "no_such_variable") != hipSuccess);
  hipModule_t bad;
  EXPECT_EQ(hipModuleLoad(&bad, (std::string(path) + ".none").c_str()), hipErrorFileNotFound);
  EXPECT(
      hipModuleLoadData(&bad, "this is no code object, whatever its length may be ............") !=
      hipSuccess);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  hipModule_t from_file, from_memory;
  HIP(hipModuleLoad(&from_file, argv[1]));
  auto image = bytes_of(argv[1]);
  EXPECT(!image.empty());
  HIP(hipModuleLoadData(&from_memory, image.data()));
  shift_by_global(from_file);
  shift_by_global(from_memory); // its variables are its own: offset is 3 again
  launch_from_a_buffer(from_file);
  unknown_things_are_refused(from_file, argv[1]);
  HIP(hipModuleUnload(from_file));
  launch_from_a_buffer(from_memory); // the other one stays
  HIP(hipModuleUnload(from_memory));
  for (int i = 0; i < 30; ++i) { // code that comes where other code was
    HIP(hipModuleLoadData(&from_memory, image.data()));
    shift_by_global(from_memory);
    HIP(hipModuleUnload(from_memory));
  }
  return check::result();
}
