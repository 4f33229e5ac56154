// Executables that have no code yet, as while another thread loads its own.
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>

#include <cstdio>

__global__ void number(int *p) { p[threadIdx.x] = static_cast<int>(threadIdx.x); }

int main() {
  int *p = nullptr, last = 0;
  if (hipMalloc(reinterpret_cast<void **>(&p), 256) != hipSuccess) return 1;
  number<<<1, 64>>>(p); // HIP loads its code now
  if (hipDeviceSynchronize() != hipSuccess || hsa_init() != HSA_STATUS_SUCCESS) return 1;
  for (int i = 0; i < 40; ++i) {
    hsa_executable_t empty;
    if (hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &empty) != HSA_STATUS_SUCCESS)
      return 1;
  }
  number<<<1, 64>>>(p);
  if (hipMemcpy(&last, p + 63, 4, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("%d\n", last);
}
