// Small kernels whose accesses can be counted by hand. The comment at the end of a line is the name
// under which the test knows the access on it.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hipError_t error = (call);                                                               \
    if (error != hipSuccess) {                                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

__global__ void copy(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int value = in[i]; // copy.load
  out[i] = value;          // copy.store
}

__global__ void copy_partial(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int value = in[i]; // partial.load
  out[i] = value;          // partial.store
}

__global__ void copy_shifted(const int *in, int *out) {
  const int i = threadIdx.x;
  const int value = in[i + 1]; // shifted.load
  out[i] = value;              // shifted.store
}

__global__ void copy_double(const double *in, double *out) {
  const int i = threadIdx.x;
  const double value = in[63 - i]; // double.load
  out[i] = value;                  // double.store
}

__global__ void strided(const int *in, int *out, int stride) {
  const int i = threadIdx.x;
  const int value = in[i * stride]; // strided.load
  out[i] = value;                   // strided.store
}

__global__ void broadcast(const int *in, int *out, int at) {
  const int value = in[at];                    // broadcast.load
  out[blockIdx.x * blockDim.x + threadIdx.x] = value; // broadcast.store
}

__global__ void gather(const int *in, const int *index, int *out) {
  const int i = threadIdx.x;
  const int at = index[i];    // gather.index
  const int value = in[at];   // gather.load
  out[i] = value;             // gather.store
}

// 64 x 64 floats, a row for each workgroup of 64.
__global__ void transpose_naive(const float *in, float *out) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float value = in[y * 64 + x]; // naive.load
  out[x * 64 + y] = value;            // naive.store
}

// The same by one workgroup of 64 x 4, through LDS.
template <int Row> __device__ void transposeThroughLds(const float *in, float *out, float *tile) {
  const int x = threadIdx.x;
  for (int y = threadIdx.y; y < 64; y += 4) {
    const float value = in[y * 64 + x]; // tile.load
    tile[y * Row + x] = value;          // tile.put
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 64; y += 4) {
    const float value = tile[x * Row + y]; // tile.take
    out[y * 64 + x] = value;               // tile.store
  }
}
__global__ void transpose_lds(const float *in, float *out) {
  __shared__ float tile[64 * 64];
  transposeThroughLds<64>(in, out, tile);
}
__global__ void transpose_padded(const float *in, float *out) {
  __shared__ float tile[64 * 65];
  transposeThroughLds<65>(in, out, tile);
}

__global__ void lds_column(float *out, int column) {
  __shared__ float tile[64][64];
  const int i = threadIdx.x;
  tile[i][column] = static_cast<float>(i); // column.put
  __syncthreads();
  const float value = tile[63 - i][column]; // column.take
  out[i] = value;                           // column.store
}

__global__ void lds_wide(float4 *out, int stride) {
  __shared__ float4 tile[64 * 8];
  const int i = threadIdx.x;
  tile[i * stride] = make_float4(i, 1, 2, 3); // wide.put
  __syncthreads();
  const float4 value = tile[(63 - i) * stride]; // wide.take
  out[i] = value;                               // wide.store
}

__global__ void lds_double(double *out, int stride) {
  __shared__ double tile[64 * 16];
  const int i = threadIdx.x;
  tile[i * stride] = i; // lds8.put
  __syncthreads();
  const double value = tile[(i ^ 1) * stride]; // lds8.take
  out[i] = value;
}

__global__ void atomic_one(int *counter) {
  atomicAdd(counter, static_cast<int>(threadIdx.x)); // one.add
}

__global__ void atomic_each(int *counters) {
  atomicAdd(counters + threadIdx.x, 1); // each.add
}

__global__ void atomic_lds(int *out, int kinds) {
  __shared__ int histogram[64];
  const int i = threadIdx.x;
  histogram[i] = 0;
  __syncthreads();
  atomicAdd(&histogram[i % kinds], 1); // histogram.add
  __syncthreads();
  out[i] = histogram[i];
}

// A pointer that is to LDS in even lanes and to global memory in odd ones.
__global__ void flat(const float *in, float *out) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = 2;
  __syncthreads();
  const float *from = i % 2 == 0 ? tile + i : in + i;
  const float value = *from; // flat.load
  out[i] = value;
}

__global__ void fill(char *out, int bytes) {
  __builtin_memset(out + threadIdx.x * 1000, 7, bytes); // fill.store
}

template <typename T> T *allocate(size_t count) {
  T *memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  CHECK(hipMemset(memory, 0, count * sizeof(T)));
  return memory;
}

int main() {
  float *a = allocate<float>(1 << 16), *b = allocate<float>(1 << 16);
  int *in = reinterpret_cast<int *>(a), *out = reinterpret_cast<int *>(b);
  int *index = allocate<int>(64), *counters = allocate<int>(64);
  std::vector<int> indices(64);
  for (int i = 0; i < 64; ++i) indices[i] = i * 37 % 50 * 32 + i % 32;
  CHECK(hipMemcpy(index, indices.data(), 64 * sizeof(int), hipMemcpyHostToDevice));

  copy<<<1, 256>>>(in, out, 256);
  copy_partial<<<1, 128>>>(in, out, 100);
  copy_shifted<<<1, 64>>>(in, out);
  copy_double<<<1, 64>>>(reinterpret_cast<double *>(a), reinterpret_cast<double *>(b));
  strided<<<1, 64>>>(in, out, 32);
  broadcast<<<2, 64>>>(in, out, 5);
  gather<<<1, 64>>>(in, index, out);
  transpose_naive<<<64, 64>>>(a, b);
  transpose_lds<<<1, dim3(64, 4)>>>(a, b);
  transpose_padded<<<1, dim3(64, 4)>>>(a, b);
  lds_column<<<1, 64>>>(b, 3);
  lds_wide<<<1, 64>>>(reinterpret_cast<float4 *>(b), 8);
  lds_double<<<1, 64>>>(reinterpret_cast<double *>(b), 16);
  atomic_one<<<3, 64>>>(counters);
  atomic_each<<<1, 64>>>(counters);
  atomic_lds<<<1, 64>>>(out, 4);
  flat<<<1, 64>>>(a, b);
  fill<<<1, 64>>>(reinterpret_cast<char *>(b), 1000);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  std::puts("done");
  return 0;
}
