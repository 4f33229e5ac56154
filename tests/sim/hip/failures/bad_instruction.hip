// Instructions that stop a kernel. The argument says which.
#include "../check.h"

__global__ void unknown_instruction(int *out) {
  out[0] = 1;
  asm volatile(".long 0xffffffff");
  out[1] = 1;
}
__global__ void trapping(int *out, int limit) {
  out[0] = 1;
  if (static_cast<int>(threadIdx.x) >= limit) __builtin_trap();
  out[1] = 1;
}
__global__ void aborting(int *out, int limit) {
  if (static_cast<int>(threadIdx.x) >= limit) abort();
  out[1] = 1;
}

int main(int argc, char **argv) {
  const std::string kind = argc > 1 ? argv[1] : "unknown";
  check::Device<int> out(2);
  out.fill(0);
  HIP(hipDeviceSynchronize());
  if (kind == "unknown")
    unknown_instruction<<<1, 64>>>(out);
  else if (kind == "trap")
    trapping<<<1, 64>>>(out, 10);
  else
    aborting<<<1, 64>>>(out, 10);
  hipError_t error = hipDeviceSynchronize();
  std::printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
  return error == hipSuccess ? 0 : 3;
}
