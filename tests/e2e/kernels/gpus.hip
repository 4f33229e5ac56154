// Kernels of gpus.cpp, compiled by hiprtc for whatever GPU there is.
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void reduce(const float *a, float *sum, int n) {
  __shared__ float parts[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  parts[t] = i < n ? a[i] : 0;
  __syncthreads();
  for (int d = 128; d; d /= 2) {
    if (t < d) parts[t] += parts[t + d];
    __syncthreads();
  }
  if (t == 0) atomicAdd(sum, parts[0]);
}

// Lanes iterate as often as they like.
extern "C" __global__ void steps(unsigned *out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1, count = 0;
  for (; x != 1; ++count) x = x % 2 ? 3 * x + 1 : x / 2;
  out[blockIdx.x * blockDim.x + threadIdx.x] = count;
}

// All of the LDS that a workgroup can have.
extern "C" __global__ void reverse(unsigned *out, unsigned words) {
  extern __shared__ unsigned all[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) all[i] = i * 3;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) out[i] = all[words - 1 - i];
}

extern "C" __global__ void say(int number) {
  if (threadIdx.x == 0) printf("workgroup %d says %d\n", (int)blockIdx.x, number);
}

extern "C" __global__ void racy(float *out) { // a barrier is missing
  __shared__ float values[256];
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = values[255 - threadIdx.x];
}

// The same for all lanes: where there is one, the scalar unit computes it.
extern "C" __global__ void scaled(float *out, float x, float y) { out[threadIdx.x] = x * y + 1; }

// The barrier of gfx12 in its two steps; `early` reads between them.
extern "C" __global__ void split(float *out, int early) {
  __shared__ float values[256];
  values[threadIdx.x] = threadIdx.x;
#if defined(__gfx1200__) || defined(__gfx1201__)
  asm volatile("s_wait_dscnt 0x0\n s_barrier_signal -1" ::: "memory");
  if (early) out[threadIdx.x] = values[255 - threadIdx.x];
  asm volatile("s_barrier_wait -1" ::: "memory");
  if (early) return;
#else
  __syncthreads();
#endif
  out[threadIdx.x] = values[255 - threadIdx.x];
}

// A product of matrices in one instruction. Rows of A and columns of B have `depth` numbers, which
// are small and whole; each lane writes what it has of the result.
__device__ int atA(int i, int k) { return (i * 3 + k * 5) % 9; }
__device__ int atB(int k, int j) { return (k * 7 + j * 2) % 9; }
__device__ unsigned fp8(int n) { // OCP's E4M3
  const unsigned char bytes[] = {0, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e, 0x50};
  return bytes[n];
}

extern "C" __global__ void product(float *out, int *depth) {
  const int lane = threadIdx.x, half = lane % 16, quarter = lane / 16;
#if defined(__gfx950__)
  typedef int Operand __attribute__((ext_vector_type(8)));
  typedef float Result __attribute__((ext_vector_type(4)));
  Operand a = 0, b = 0;
  for (int k = 0; k < 32; ++k) {
    a[k / 4] |= fp8(atA(half, quarter * 32 + k)) << k % 4 * 8;
    b[k / 4] |= fp8(atB(quarter * 32 + k, half)) << k % 4 * 8;
  }
  // The scales are 2 and 1/2.
  const Result d = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, Result{}, 0, 0, 0, 128, 0, 126);
  for (int v = 0; v < 4; ++v) out[(quarter * 4 + v) * 16 + half] = d[v];
  *depth = 128;
#elif defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
  typedef float Result __attribute__((ext_vector_type(4)));
  const Result d = __builtin_amdgcn_mfma_f32_16x16x4f32(atA(half, quarter), atB(quarter, half), Result{}, 0, 0, 0);
  for (int v = 0; v < 4; ++v) out[(quarter * 4 + v) * 16 + half] = d[v];
  *depth = 4;
#elif defined(__gfx1200__) || defined(__gfx1201__)
  typedef int Operand __attribute__((ext_vector_type(2)));
  typedef float Result __attribute__((ext_vector_type(8)));
  Operand a = 0, b = 0;
  for (int k = 0; k < 8; ++k) {
    a[k / 4] |= fp8(atA(half, quarter * 8 + k)) << k % 4 * 8;
    b[k / 4] |= fp8(atB(quarter * 8 + k, half)) << k % 4 * 8;
  }
  const Result d = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, Result{});
  for (int v = 0; v < 8; ++v) out[(quarter * 8 + v) * 16 + half] = d[v];
  *depth = 16;
#elif defined(__GFX11__)
  typedef _Float16 Operand __attribute__((ext_vector_type(16)));
  typedef float Result __attribute__((ext_vector_type(8)));
  Operand a, b;
  for (int k = 0; k < 16; ++k) a[k] = atA(half, k), b[k] = atB(k, half);
  const Result d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, Result{});
  for (int v = 0; v < 8; ++v) out[(v * 2 + quarter) * 16 + half] = d[v];
  *depth = 16;
#else
  *depth = 0;
#endif
}
