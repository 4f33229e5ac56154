// Programs in which the host does more.
#include "cases.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// ---- a pipeline of chunks on two streams: produce on one, consume on the other
__global__ void produce(int *p, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i * seed; // finds: race
}
template <bool broken> __global__ void consume(const int *p, int n, int *sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] += p[i]; // finds: race
}
// Nothing is done before the host has submitted everything. Where it finds that a command is done,
// HIP leaves out what would order the next one, and they are in order by that.
__global__ void gate(const volatile int *is_open) {
  while (!*is_open) __builtin_amdgcn_s_sleep(8);
}
template <bool broken> void run_pipeline() {
  const int n = 1000, chunks = 4;
  hipStream_t first, second;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  Device<int> p(n * 2, false), sum(n);
  HIP(hipDeviceSynchronize());
  hipEvent_t produced[chunks], consumed[chunks];
  for (int i = 0; i < chunks; ++i) {
    HIP(hipEventCreateWithFlags(&produced[i], hipEventDisableTiming));
    HIP(hipEventCreateWithFlags(&consumed[i], hipEventDisableTiming));
  }
  int *is_open;
  HIP(hipHostMalloc(reinterpret_cast<void **>(&is_open), 4096, 0));
  *is_open = 0;
  gate<<<1, 1, 0, first>>>(is_open);
  for (int i = 0; i < chunks; ++i) {
    int *half = p.data + i % 2 * n;
    if (i >= 2 && !broken)
      HIP(hipStreamWaitEvent(first, consumed[i - 2], 0)); // the half is free again
    produce<<<8, 128, 0, first>>>(half, n, i + 2);
    HIP(hipEventRecord(produced[i], first));
    HIP(hipStreamWaitEvent(second, produced[i], 0));
    consume<broken><<<8, 128, 0, second>>>(half, n, sum.data);
    HIP(hipEventRecord(consumed[i], second));
  }
  *static_cast<volatile int *>(is_open) = 1;
  HIP(hipDeviceSynchronize());
  HIP(hipHostFree(is_open));
  for (int i = 0; i < chunks; ++i) {
    HIP(hipEventDestroy(produced[i]));
    HIP(hipEventDestroy(consumed[i]));
  }
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
}

// ---- managed memory, written by the host between kernels
template <bool broken>
__global__ void axpy(float a, const float *x, float *y, int n, const int *map) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[map[i]] += a * x[i]; // finds: race
}
template <bool broken> void run_managed() {
  const int n = 512;
  float *x, *y;
  int *map;
  HIP(hipMallocManaged(&x, n * 4));
  HIP(hipMallocManaged(&y, n * 4));
  HIP(hipMallocManaged(&map, n * 4));
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 0, map[i] = broken && i == 300 ? 17 : n - 1 - i;
  for (int turn = 0; turn < 3; ++turn) {
    axpy<broken><<<4, 128>>>(2, x, y, n, map);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < n; ++i) x[i] += 1;
  }
  HIP(hipFree(x));
  HIP(hipFree(y));
  HIP(hipFree(map));
}

// ---- pinned memory that the kernel reads where it is
struct Record {
  double weight;
  short key, flags;
  int next;
};
template <bool broken> __global__ void follow(const Record *records, int n, double *out) {
  double sum = 0;
  int at = threadIdx.x % n;
  for (int i = 0; i < 5; ++i) {
    sum += records[at].weight * records[at].key; // finds: memory
    at = records[at].next;                       // may: memory
  }
  out[threadIdx.x] = sum;
}
template <bool broken> void run_pinned() {
  const int n = 100;
  Record *records;
  HIP(hipHostMalloc(&records, n * sizeof(Record), hipHostMallocMapped));
  for (int i = 0; i < n; ++i) records[i] = {0.5 * i, short(i), 0, broken ? i + 1 : (i + 1) % n};
  Record *seen;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&seen), records, 0));
  Device<double> out(128, false);
  follow<broken><<<1, 128>>>(seen, n, out.data);
  finish();
  HIP(hipHostFree(records));
}

// ---- memory that the program has itself, registered
template <bool broken> __global__ void scale_all(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] *= 2;
}
template <bool broken> void run_registered() {
  std::vector<float> own(3000, 1.5f);
  HIP(hipHostRegister(own.data(), own.size() * 4, 0));
  void *seen;
  HIP(hipHostGetDevicePointer(&seen, own.data(), 0));
  scale_all<broken><<<1, 64>>>(static_cast<float *>(seen), 3000);
  finish();
  if (own[2999] != 3) std::exit(9);
  HIP(hipHostUnregister(own.data()));
}

// ---- the whole grid meets, again and again
#if MEETS_IN_MEMORY
__device__ unsigned met[4];
#endif
// On some GPUs newer HIPs do not prepare what HIP 5's device libraries use for it.
__device__ void meet(const cg::grid_group &grid, int turn) {
#if MEETS_IN_MEMORY
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&met[turn], 1u);
    while (__hip_atomic_load(&met[turn], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
      __builtin_amdgcn_s_sleep(1);
    __threadfence();
  }
  __syncthreads();
#else
  grid.sync();
#endif
}
template <bool broken> __global__ void jacobi(float *a, float *b, int n, int turns) {
  const cg::grid_group grid = cg::this_grid();
  for (int turn = 0; turn < turns; ++turn) {
    for (unsigned i = grid.thread_rank(); i < unsigned(n); i += grid.size()) {
      const float left = i ? a[i - 1] : 0, right = int(i) + 1 < n ? a[i + 1] : 0; // finds: race
      b[i] = (left + right) / 2;                                                  // finds: race
    }
    if (broken && turn == 1)
      __syncthreads();
    else
      meet(grid, turn);
    float *t = a;
    a = b, b = t;
  }
}
template <bool broken> void run_grid() {
  Device<float> a(1000), b(1000);
  int n = 1000, turns = 4;
  void *arguments[] = {&a.data, &b.data, &n, &turns};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(jacobi<broken>), dim3(4), dim3(128),
                                 arguments, 0, 0));
  finish();
}

// ---- a graph: fill, work, copy
__global__ void fill_node(int *p, int n) {
  if (int(threadIdx.x) < n) p[threadIdx.x] = threadIdx.x;
}
template <bool broken> __global__ void work_node(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 3; // finds: init
}
template <bool broken> void run_graph() {
  Device<int> p(128, false), out(128, false);
  int host[128];
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  fill_node<<<1, 128, 0, stream>>>(p.data, broken ? 100 : 128);
  work_node<broken><<<1, 128, 0, stream>>>(p.data, out.data);
  HIP(hipMemcpyAsync(host, out.data, sizeof host, hipMemcpyDeviceToHost, stream));
  hipGraph_t graph;
  HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t ready;
  HIP(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) HIP(hipGraphLaunch(ready, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipGraphExecDestroy(ready));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
}

// ---- prints what it meets
template <bool broken> __global__ void tells(const int *p, int n, int *out) {
  const int i = threadIdx.x;
  if (p[i] > 1000000000) printf("large: %d at %d %s\n", p[i], i, "here");
  out[broken ? i + 1 : i] = p[i] + n; // finds: memory
}
template <bool broken> void run_print() {
  Device<int> p(64), out(64, false);
  tells<broken><<<1, 64>>>(p.data, 7, out.data);
  finish();
}

// ---- lambdas and functors
template <class F> __global__ void for_each(int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
template <class T> struct View {
  T *data;
  int rows, columns;
  __device__ T &operator()(int r, int c) const { return data[r * columns + c]; } // may: memory
};
template <bool broken> void run_lambda() {
  Device<float> a(30 * 20), b(20 * 30, false);
  const View<float> from{a.data, 30, 20}, to{b.data, 20, 30};
  for_each<<<10, 64>>>(600, [=] __device__(int i) {
    const int r = i / 20, c = i % 20;
    to(broken ? c + 1 : c, r) = from(r, c); // finds: memory
  });
  finish();
}

// ---- device malloc
template <bool broken> __global__ void lists(int *out) {
#if HAS_MALLOC
  int *own = static_cast<int *>(malloc((threadIdx.x % 5 + 1) * sizeof(int)));
#else
  int own[5];
#endif
  for (unsigned i = 0; i <= threadIdx.x % 5; ++i) own[i] = i;
  int sum = 0;
  for (unsigned i = 0; i <= threadIdx.x % 5; ++i) sum += own[i];
#if HAS_MALLOC
  free(own);
#endif
  atomicAdd(&out[broken ? threadIdx.x % 5 + 1 : threadIdx.x % 5], sum); // finds: memory
}
template <bool broken> void run_malloc() {
  Device<int> out(5);
  lists<broken><<<1, 64>>>(out.data);
  finish();
}

// ---- coefficients in constant memory
__constant__ float coefficients[9];
__device__ int rejected;
template <bool broken> __global__ void convolve(const float *in, float *out, int n) {
  __shared__ float row[128 + 8];
  const int i = blockIdx.x * 128 + threadIdx.x - 4;
  row[threadIdx.x] = i >= 0 && i < n ? in[i] : 0; // finds: race
  if (threadIdx.x < 8) {
    const int j = i + 128;
    row[threadIdx.x + 128] = j < n ? in[j] : 0; // finds: race
  }
  if (!broken) __syncthreads();
  float sum = 0;
  for (int k = 0; k < 9; ++k) sum += coefficients[k] * row[threadIdx.x + k]; // finds: race
  const int o = i + 4;
  if (o < n)
    out[o] = sum;
  else
    atomicAdd(&rejected, 1);
}
template <bool broken> void run_constant() {
  const float host[9] = {1, 2, 3, 4, 5, 4, 3, 2, 1};
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), host, sizeof host));
  Device<float> in(500), out(500, false);
  convolve<broken><<<4, 128>>>(in.data, out.data, 500);
  finish();
  int count;
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(rejected), 4));
  if (count != 12) std::exit(9);
}

// ---- one of two buffers is freed too early
template <bool broken> __global__ void late(const int *p, int *out) {
  out[threadIdx.x] = p[63 - threadIdx.x]; // finds: memory
}
template <bool broken> void run_freed() {
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  int *p, *out;
  HIP(hipMalloc(&p, 256));
  HIP(hipMalloc(&out, 256));
  HIP(hipMemset(p, 0, 256));
  HIP(hipDeviceSynchronize());
  if (broken) HIP(hipFree(p));
  late<broken><<<1, 64, 0, stream>>>(p, out);
  HIP(hipStreamSynchronize(stream));
  if (!broken) HIP(hipFree(p));
  HIP(hipFree(out));
  HIP(hipStreamDestroy(stream));
}

// ---- a host function between two kernels
__global__ void half_of(int *p) { p[threadIdx.x] /= 2; } // may: race
template <bool broken> __global__ void twice(int *p, int *q) {
  q[threadIdx.x] = p[threadIdx.x] * 2; // may: race
}
template <bool broken> void run_host_function() {
  hipStream_t a, b;
  HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  Device<int> p(64), q(64);
  HIP(hipDeviceSynchronize());
  volatile int called = 0;
  half_of<<<1, 64, 0, a>>>(p.data);
  HIP(hipStreamAddCallback(
      a, [](hipStream_t, hipError_t, void *to) { *static_cast<volatile int *>(to) = 1; },
      const_cast<int *>(&called), 0));
  while (!broken && !called) {
  }
  twice<broken><<<1, 64, 0, b>>>(p.data, q.data);
  HIP(hipDeviceSynchronize());
  HIP(hipStreamDestroy(a));
  HIP(hipStreamDestroy(b));
}

// ---- function pointers in a table
using Operation = float (*)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ Operation table[2] = {add, multiply};
template <bool broken>
__global__ void apply(const float *a, const float *b, const int *which, float *out) {
  out[threadIdx.x] = table[which[threadIdx.x]](a[threadIdx.x], b[threadIdx.x]); // finds: init
}
template <bool broken> void run_table() {
  Device<float> a(64), b(64), out(64, false);
  Device<int> which(64, false);
  HIP(hipMemset(which.data, 0, broken ? 200 : 256));
  apply<broken><<<1, 64>>>(a.data, b.data, which.data, out.data);
  finish();
}

template <bool broken> int run() {
  run_pipeline<broken>();
  run_managed<broken>();
  run_pinned<broken>();
  run_registered<broken>();
  run_grid<broken>();
  run_graph<broken>();
  run_print<broken>();
  run_lambda<broken>();
  run_malloc<broken>();
  run_constant<broken>();
  run_freed<broken>();
  run_host_function<broken>();
  run_table<broken>();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
