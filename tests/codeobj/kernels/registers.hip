// Kernels that take known numbers of registers and bytes of LDS, to be compared with the compiler's own occupancy.
#include "gpu.h"

#define LIMIT(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define TAKES_VGPRS(n, group)                                                                      \
  extern "C" __global__ LIMIT(group) void vgprs_##n##_##group() { asm volatile("" ::: "v" #n); }
#define TAKES_SGPRS(n)                                                                             \
  extern "C" __global__ LIMIT(64) void sgprs_##n() { asm volatile("" ::: "s" #n); }
#define TAKES_LDS(bytes, group)                                                                    \
  extern "C" __global__ LIMIT(group) void lds_##bytes##_##group(int *out) {                        \
    __shared__ int tile[bytes / 4];                                                                \
    tile[thread_x()] = out[0];                                                                     \
    synchronize();                                                                                 \
    out[thread_x()] = tile[thread_x() ^ 1];                                                        \
  }

TAKES_VGPRS(7, 64)
TAKES_VGPRS(23, 64)
TAKES_VGPRS(24, 64)
TAKES_VGPRS(31, 256)
TAKES_VGPRS(39, 256)
TAKES_VGPRS(63, 256)
TAKES_VGPRS(64, 256)
TAKES_VGPRS(84, 256)
TAKES_VGPRS(100, 64)
TAKES_VGPRS(127, 128)
TAKES_VGPRS(128, 128)
TAKES_VGPRS(200, 64)
TAKES_VGPRS(255, 64)
TAKES_SGPRS(20)
TAKES_SGPRS(70)
TAKES_SGPRS(79)
TAKES_SGPRS(85)
TAKES_SGPRS(95)
TAKES_LDS(1024, 64)
TAKES_LDS(4096, 64)
TAKES_LDS(4096, 256)
TAKES_LDS(8192, 128)
TAKES_LDS(16384, 256)
TAKES_LDS(20480, 256)
TAKES_LDS(20480, 1024)
TAKES_LDS(32768, 64)
TAKES_LDS(65536, 256)
TAKES_LDS(65536, 1024)
