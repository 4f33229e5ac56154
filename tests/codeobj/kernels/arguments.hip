// Kernels whose argument lists, registers and LDS differ in every way the library has to read back.
//
// Compiled with -DWITH_CONTROL every kernel has one more pointer behind its arguments, as an
// instrumented clone has, and some read hidden arguments that the plain kernel does not need.
#include "gpu.h"

#ifdef WITH_CONTROL
#define CONTROL_ONLY void *control
#define CONTROL , void *control
#define USE_CONTROL (*static_cast<volatile unsigned *>(control) = grid_width() + block_width())
#else
#define CONTROL_ONLY
#define CONTROL
#define USE_CONTROL (void)0
#endif

struct Small {
  char c;
  short s;
};
struct Big {
  int words[8];
};
typedef float float4 __attribute__((ext_vector_type(4)));

extern "C" __global__ void no_arguments(CONTROL_ONLY) { USE_CONTROL; }

extern "C" __global__ void one_pointer(float *out CONTROL) {
  USE_CONTROL;
  out[thread_x()] = thread_x();
}

// Ends at byte 66, so the block is padded; reads the grid through hidden arguments from version 5
// on.
extern "C" __global__ void mixed(char c, Big big, float4 v, short s CONTROL) {
  auto *out = reinterpret_cast<float *>(static_cast<unsigned long>(big.words[0]));
  out[global_x()] = c + big.words[7] + v.x + s + grid_width();
}

extern "C" __global__ void odd_end(float *out, char tail CONTROL) { out[thread_x()] = tail; }

extern "C" __global__ void small_struct(Small in, int *out CONTROL) { out[0] = in.c + in.s; }

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(128, 128)))
static_lds(const float *in, float *out CONTROL) {
  __shared__ float tile[512];
  for (int i = 0; i < 4; ++i) tile[thread_x() + 128 * i] = in[thread_x() + 128 * i];
  synchronize();
  out[thread_x()] = tile[511 - thread_x()];
}

extern "C" __global__ void dynamic_lds(const float *in, float *out CONTROL) {
  extern __shared__ float scratch[];
  scratch[thread_x()] = in[thread_x()];
  synchronize();
  out[thread_x()] = scratch[block_width() - 1 - thread_x()];
}

extern "C" __global__ void private_array(int *out, int n CONTROL) {
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = i * n;
  out[thread_x()] = local[(n + thread_x()) & 63];
}

__device__ __attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void dynamic_stack(int *out CONTROL) {
  out[thread_x()] = fibonacci(out[thread_x()]);
}

template <class T> __global__ void templated(const T *in, T *out, T factor CONTROL) {
  unsigned i = global_x();
  out[i] = in[i] * factor;
}
#ifdef WITH_CONTROL
template __global__ void templated<float>(const float *, float *, float, void *);
template __global__ void templated<double>(const double *, double *, double, void *);
#else
template __global__ void templated<float>(const float *, float *, float);
template __global__ void templated<double>(const double *, double *, double);
#endif

// A pointer array in an argument, and two-dimensional ids.
struct Pointers {
  float *rows[4];
};
extern "C" __global__ void two_dimensional(Pointers in, float *out, unsigned pitch CONTROL) {
  out[(block_y() * 8 + thread_y()) * pitch + global_x()] = in.rows[thread_y() & 3][global_x()];
}
