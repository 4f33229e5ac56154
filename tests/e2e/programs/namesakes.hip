// Two kernels of one name, each in its own code object: this one, which writes every integer, runs
// twice, and that of the other file once. With the paths of two code objects, their kernels `work`
// run in the same way.
#include "check.h"

void launchOther(int *numbers, int count);

namespace {

__global__ void work(int *numbers, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) numbers[i] += 1;
}

void launchFrom(const char *path, int *numbers, int count, int times) {
  hipModule_t module = nullptr;
  hipFunction_t kernel = nullptr;
  CHECK(hipModuleLoad(&module, path));
  CHECK(hipModuleGetFunction(&kernel, module, "work"));
  void *arguments[] = {&numbers, &count};
  for (int i = 0; i < times; ++i)
    CHECK(hipModuleLaunchKernel(kernel, count / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
}

} // namespace

int main(int argc, char **argv) {
  constexpr int count = 1024;
  int *numbers = nullptr;
  CHECK(hipMalloc(&numbers, count * sizeof *numbers));
  CHECK(hipMemset(numbers, 0, count * sizeof *numbers));
  if (argc == 3) {
    launchFrom(argv[1], numbers, count, 2);
    launchFrom(argv[2], numbers, count, 1);
  } else {
    work<<<count / 64, 64>>>(numbers, count);
    work<<<count / 64, 64>>>(numbers, count);
    launchOther(numbers, count);
  }
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(numbers));
}
