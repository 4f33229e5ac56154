// Dies in the way that its argument says, or does not.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hip/hip_runtime.h>

__global__ void writeAt(int *data, size_t index) { data[index + threadIdx.x] = 1; }
__global__ void trapNow(int *data) {
  if (data[threadIdx.x] == 0) __builtin_trap();
}
/// The third of four workgroups reads far away in its second half, behind a load that is all right.
__global__ void oneOfMany(const int *data, int *sum) {
  int found = data[threadIdx.x];
  if (blockIdx.x == 2 && threadIdx.x >= 32)
    found += data[(size_t{1} << 28) + threadIdx.x]; // the guilty line
  atomicAdd(sum, found);
}
__global__ void misaligned(char *data) { atomicAdd(reinterpret_cast<int *>(data + 2), 1); }
__global__ void forever(volatile int *flag) {
  while (*flag == 0) {
  }
}

__global__ void talks() { printf("%s %d\n", "from the GPU", int(threadIdx.x)); }

/// Visible to who looks at the stack.
extern "C" __attribute__((noinline, visibility("default"))) int *makeBuffer(size_t bytes) {
  int *memory = nullptr; // a template of HIP's headers takes it, which is not the place to show
  if (hipMalloc(&memory, bytes) != hipSuccess || hipMemset(memory, 0, bytes) != hipSuccess)
    std::exit(9);
  return memory;
}

extern "C" __attribute__((noinline, visibility("default"))) int dropBuffer(int *buffer) {
  return hipFree(buffer) == hipSuccess ? 0 : 1;
}

int main(int, char **argv) {
  constexpr size_t bytes = size_t{8} << 20;
  int *buffer = makeBuffer(bytes);
  if (!std::strcmp(argv[1], "overrun")) writeAt<<<1, 64>>>(buffer, (bytes + (size_t{1} << 30)) / 4);
  if (!std::strcmp(argv[1], "freed")) {
    if (dropBuffer(buffer) != 0) return 9;
    writeAt<<<1, 64>>>(buffer, 256);
  }
  if (!std::strcmp(argv[1], "many")) oneOfMany<<<4, 64>>>(buffer, buffer + 64);
  if (!std::strcmp(argv[1], "misaligned")) misaligned<<<1, 1>>>(reinterpret_cast<char *>(buffer));
  if (!std::strcmp(argv[1], "trap")) trapNow<<<1, 64>>>(buffer);
  if (!std::strcmp(argv[1], "talk")) talks<<<1, 1>>>();
  if (!std::strcmp(argv[1], "hang")) forever<<<1, 64>>>(buffer);
  if (!std::strcmp(argv[1], "fine") || !std::strcmp(argv[1], "seven"))
    writeAt<<<1, 64>>>(buffer, 0);
  const hipError_t status = hipDeviceSynchronize();
  std::puts(status == hipSuccess ? "right" : "wrong");
  return !std::strcmp(argv[1], "seven") ? 7 : status == hipSuccess ? 0 : 1;
}
