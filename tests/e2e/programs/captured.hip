// captured SCENARIO: kernels of all kinds, to be captured; prints what they computed.
#include "../../sim/hip/grid_sync.h"
#include "check.h"

#include <hip/hip_cooperative_groups.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * 1.1f + b[i]; // rounded once
}

struct Node {
  Node *next;
  unsigned value, unused;
};
__global__ void chase(Node *const *heads, unsigned *sums, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (const Node *n = heads[i]; n && steps--; n = n->next) sum = sum * 31 + n->value;
  sums[i] = sum;
}

__global__ void dynamicLds(const int *in, int *out) {
  extern __shared__ int lds[];
  const int t = threadIdx.x, n = blockDim.x;
  lds[t] = in[blockIdx.x * n + t];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k <= t; ++k) sum += lds[k];
  out[blockIdx.x * n + t] = sum + lds[n - 1 - t];
}

__device__ int counter = 7;
__device__ int table[1024];
__device__ int *pointer;
__constant__ int factor = 3;
__global__ void variables(int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[i] * factor + pointer[i & 255];
  if (i == 0) counter += 5;
  table[i] += 1;
}

typedef int (*Function)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x + 1; }
__device__ Function functions[2] = {twice, square};
struct Shape {
  int k;
  __device__ Shape(int k) : k(k) {}
  __device__ virtual int area(int) const { return k; }
};
struct Square : Shape {
  using Shape::Shape;
  __device__ int area(int x) const override { return k * x * x; }
};
struct Line : Shape {
  using Shape::Shape;
  __device__ int area(int x) const override { return k + x; }
};
__global__ void makeObjects(Function *chosen, char *objects) {
  chosen[0] = twice;
  chosen[1] = square;
  for (int i = 0; i < 64; ++i)
    if (i & 1)
      new (objects + 32 * i) Square(i);
    else
      new (objects + 32 * i) Line(i);
}
__global__ void callObjects(const Function *chosen, const char *objects, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = chosen[i & 1](i) + functions[(i >> 1) & 1](i) +
           reinterpret_cast<const Shape *>(objects + 32 * (i & 63))->area(i);
}

__global__ void floatSum(float *sum, const float *in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum + (i & 3), in[i]);
}

__global__ void say(int *out) {
  const int i = threadIdx.x;
  if (i < 2) printf("lane %d\n", i);
  out[i] = i;
}

__global__ void hostMemory(int *managed, const int *pinned, int *registered, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) registered[i] = (managed[i] += pinned[i]) * 2;
}

__global__ void scratch(const int *in, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a[64];
  for (int k = 0; k < 64; ++k) a[k] = in[(i + k) & 1023];
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum = sum * 7 + a[(in[(i + k) & 1023] + k) & 63];
  out[i] = sum;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion(unsigned *out) { out[threadIdx.x] = fibonacci(threadIdx.x & 7); }

__global__ void gather(const float *from, const int *index, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from[index[i]] + 1.0f;
}

__global__ void buildLists(Node **lists, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Node *first = nullptr;
  for (int k = 0; k < length; ++k) {
    Node *n = static_cast<Node *>(malloc(sizeof(Node)));
    if (!n) break;
    n->value = i * 100 + k;
    n->next = first;
    first = n;
  }
  lists[i] = first;
}
__global__ void mallocAndFree(unsigned *out) {
  unsigned sum = 0;
  for (unsigned round = 0; round < 8; ++round) {
    const unsigned n = 16 + (threadIdx.x * 7 + round) % 50;
    auto *numbers = static_cast<unsigned *>(malloc(n * sizeof(unsigned)));
    for (unsigned i = 0; numbers && i < n; ++i) numbers[i] = i + round;
    for (unsigned i = 0; numbers && i < n; ++i) sum += numbers[i];
    free(numbers);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void sumLists(Node *const *lists, unsigned *sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (const Node *n = lists[i]; n; n = n->next) sum += n->value;
  sums[i] = sum;
}

__global__ void cooperative(int *data, int n) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  // Each round reads what other workgroups wrote in the one before.
  for (int round = 0; round < 5; ++round) {
    const int *from = data + (round & 1) * n;
    int *to = data + (~round & 1) * n;
    for (unsigned i = grid.thread_rank(); i < static_cast<unsigned>(n); i += grid.size())
      to[i] = from[(i * 7 + 3) % n] * 3 + round;
    grid.sync();
  }
}

__global__ void slow(unsigned *out, int rounds) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void apart(const int *a, long distance, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i + distance] + 1; // an address that stands nowhere in memory
}

__global__ void oneTooFar(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + 1];
}

__global__ void tabled(int *out) {
  static constexpr int steps[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 1, 2, 3, 4, 5, 6};
  out[threadIdx.x] = steps[out[threadIdx.x] & 15];
}

__global__ void astray(int *p, long distance) { p[threadIdx.x + distance] = 1; }

template <class T> T *device(size_t n) {
  T *p = nullptr;
  CHECK(hipMalloc(&p, n * sizeof(T)));
  CHECK(hipMemset(p, 0, n * sizeof(T)));
  return p;
}
template <class T> T *device(const std::vector<T> &v) {
  T *p = device<T>(v.size());
  CHECK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
  return p;
}
unsigned next() {
  static unsigned x = 12345;
  x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  return x;
}
std::vector<int> numbers(size_t n, int mask) {
  std::vector<int> v(n);
  for (int &x : v) x = static_cast<int>(next()) & mask;
  return v;
}
unsigned hash(const void *bytes, size_t size) {
  unsigned h = 5381;
  for (size_t i = 0; i < size; ++i) h = h * 33 + static_cast<const unsigned char *>(bytes)[i];
  return h;
}
template <class T> unsigned hashOf(const T *p, size_t n) {
  std::vector<T> v(n);
  CHECK(hipMemcpy(v.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
  return hash(v.data(), n * sizeof(T));
}

unsigned runAdd(int n) {
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = i * 0.25f, b[i] = static_cast<float>(next()) / 1e6f;
  float *c = device<float>(n);
  const float *da = device(a), *db = device(b);
  add<<<(n + 255) / 256, 256>>>(da, db, c, n);
  return hashOf(c, n);
}

unsigned runChase() {
  const int n = 1 << 12, heads = 256;
  Node *d = device<Node>(n);
  std::vector<Node> v(n);
  for (int i = 0; i < n; ++i) v[i] = {d + next() % n, next(), 0};
  CHECK(hipMemcpy(d, v.data(), n * sizeof(Node), hipMemcpyHostToDevice));
  std::vector<Node *> first(heads);
  for (auto &p : first) p = d + next() % n;
  unsigned *sums = device<unsigned>(heads);
  Node **dh = device(first);
  chase<<<heads / 64, 64>>>(dh, sums, 100);
  return hashOf(sums, heads);
}

unsigned runVariables() {
  const auto t = numbers(1024, 0xff), p = numbers(256, 0xff);
  int *dp = device(p), *out = device<int>(1024);
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), t.data(), sizeof(int) * 1024));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(pointer), &dp, sizeof dp));
  variables<<<4, 256>>>(out);
  variables<<<4, 256>>>(out);
  return hashOf(out, 1024);
}

unsigned runHostMemory() {
  const int n = 5000;
  int *managed = nullptr, *pinned = nullptr;
  CHECK(hipMallocManaged(&managed, n * 4));
  CHECK(hipHostMalloc(&pinned, n * 4, 0));
  std::vector<int> own(n);
  for (int i = 0; i < n; ++i) managed[i] = i, pinned[i] = 3 * i;
  CHECK(hipHostRegister(own.data(), n * 4, 0));
  int *seen = nullptr;
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void **>(&seen), own.data(), 0));
  hostMemory<<<(n + 255) / 256, 256>>>(managed, pinned, seen, n);
  CHECK(hipDeviceSynchronize());
  const unsigned h = hash(own.data(), n * 4);
  CHECK(hipHostUnregister(own.data()));
  return h;
}

/// Four streams, each with memory of its own, and one that waits for another.
unsigned runStreams() {
  const int n = 1 << 14;
  hipStream_t streams[4];
  std::vector<unsigned *> outs;
  for (hipStream_t &stream : streams) {
    CHECK(hipStreamCreate(&stream));
    outs.push_back(device<unsigned>(n));
  }
  CHECK(hipDeviceSynchronize());
  hipEvent_t event;
  CHECK(hipEventCreate(&event));
  float *x = device<float>(n), *y = device<float>(n), *z = device<float>(n);
  for (int round = 0; round < 20; ++round)
    for (int s = 1; s < 4; ++s) slow<<<n / 256, 256, 0, streams[s]>>>(outs[s], 20 + round);
  add<<<n / 256, 256, 0, streams[1]>>>(x, y, x, n);
  CHECK(hipEventRecord(event, streams[1]));
  CHECK(hipStreamWaitEvent(streams[0], event, 0));
  slow<<<n / 256, 256, 0, streams[0]>>>(outs[0], 10);
  add<<<n / 256, 256, 0, streams[0]>>>(x, y, z, n);
  for (int round = 0; round < 20; ++round)
    for (int s = 1; s < 4; ++s) slow<<<n / 256, 256, 0, streams[s]>>>(outs[s], 20 + round);
  CHECK(hipDeviceSynchronize());
  unsigned h = hashOf(z, n);
  for (unsigned *out : outs) h = h * 31 + hashOf(out, n);
  return h;
}

unsigned runGraph() {
  const int n = 4096;
  std::vector<float> v(n, 2.5f);
  float *a = device(v), *b = device<float>(n), *c = device<float>(n);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add<<<n / 256, 256, 0, stream>>>(a, a, b, n);
  add<<<n / 256, 256, 0, stream>>>(a, b, c, n);
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  return hashOf(c, n);
}

unsigned runCooperative() {
  int n = 1000;
  int *data = device(numbers(2 * n, 0xff));
  void *arguments[] = {&data, &n};
  CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(cooperative), dim3(6), dim3(96),
                                   arguments, 0, nullptr));
  CHECK(hipDeviceSynchronize());
  return hashOf(data, 2 * n);
}

/// The stream waits for a value that this thread writes after the launch.
unsigned runWaitValue() {
  const int n = 4096;
  uint32_t *flag = nullptr;
  CHECK(hipExtMallocWithFlags(reinterpret_cast<void **>(&flag), 8, hipMallocSignalMemory));
  *flag = 0;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  std::vector<float> v(n, 1.5f);
  float *a = device(v), *c = device<float>(n);
  CHECK(hipStreamWaitValue32(stream, flag, 1, hipStreamWaitValueEq, 0xffffffff));
  add<<<n / 256, 256, 0, stream>>>(a, a, c, n);
  *flag = 1;
  CHECK(hipStreamSynchronize(stream));
  return hashOf(c, n);
}

unsigned runGather(size_t mib) {
  const size_t n = mib << 18;
  std::vector<float> v(n);
  for (float &x : v) x = static_cast<float>(next());
  std::vector<int> index(4096);
  for (int &x : index) x = static_cast<int>(next() % n);
  const float *from = device(v);
  const int *di = device(index);
  float *out = device<float>(4096);
  gather<<<16, 256>>>(from, di, out, 4096);
  return hashOf(out, 4096);
}

/// Linked lists, and memory that no pointer leads to.
unsigned runReach() {
  (void)device(numbers(1 << 20, -1));
  return runChase();
}

/// The second array is written by the host: copies of HIP 6 and 7 are kernels, whose arguments,
/// pointers, stay in memory.
unsigned runApart() {
  const auto v = numbers(256, 0xffff);
  int *a = device(v), *b = nullptr, *out = device<int>(256);
  CHECK(hipHostMalloc(reinterpret_cast<void **>(&b), sizeof(int) * v.size(), 0));
  std::copy(v.begin(), v.end(), b);
  apart<<<1, 256>>>(a, b - a, out);
  return hashOf(out, 256);
}

/// A stream with kernels, and a thread whose copies never stop meanwhile.
unsigned runCopies() {
  const size_t n = 2 << 20;
  int *pinned[2], *target = device<int>(n);
  for (int k = 0; k < 2; ++k) {
    CHECK(hipHostMalloc(reinterpret_cast<void **>(&pinned[k]), n * sizeof(int)));
    std::fill(pinned[k], pinned[k] + n, k + 1);
  }
  bool is_over = false;
  std::thread copier([&] {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    for (int k = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); k ^= 1) {
      CHECK(hipMemcpyAsync(target, pinned[k], n * sizeof(int), hipMemcpyHostToDevice, stream));
      CHECK(hipStreamSynchronize(stream));
    }
  });
  std::vector<float> v(4096, 1.5f);
  float *a = device(v), *c = device<float>(4096);
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (int i = 0; i < 20; ++i) add<<<16, 256, 0, stream>>>(a, a, c, 4096);
  CHECK(hipStreamSynchronize(stream));
  __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
  copier.join();
  return hashOf(c, 4096);
}

/// Four threads, each with a stream of kernels that build on each other.
unsigned runLoad() {
  constexpr int threads = 4, n = 1 << 14;
  unsigned hashes[threads] = {};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&hashes, t] {
      hipStream_t stream;
      CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      std::vector<float> v(n, 0.25f * static_cast<float>(t + 1));
      float *a = device(v), *c = device<float>(n);
      CHECK(hipStreamSynchronize(nullptr)); // this stream does not wait for it
      for (int i = 0; i < 12; ++i) add<<<n / 256, 256, 0, stream>>>(a, c, c, n);
      CHECK(hipStreamSynchronize(stream));
      hashes[t] = hashOf(c, n);
    });
  for (std::thread &thread : all) thread.join();
  return hash(hashes, sizeof hashes);
}

/// The kernel runs on the last device; the first has memory of its own.
unsigned runAgents() {
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  CHECK(hipSetDevice(0));
  (void)device(numbers(1 << 18, -1));
  CHECK(hipSetDevice(count - 1));
  return runAdd(10000);
}

#if HIP_VERSION_MAJOR >= 6
/// Memory of the virtual memory management: two handles side by side.
unsigned runMapped() {
  hipMemAllocationProp property{};
  property.type = hipMemAllocationTypePinned;
  property.location = {hipMemLocationTypeDevice, 0};
  size_t step = 0;
  CHECK(hipMemGetAllocationGranularity(&step, &property, hipMemAllocationGranularityRecommended));
  step = ((1 << 20) + step - 1) / step * step;
  void *place = nullptr;
  CHECK(hipMemAddressReserve(&place, 2 * step, 0, nullptr, 0));
  for (int i = 0; i < 2; ++i) {
    hipMemGenericAllocationHandle_t handle{};
    CHECK(hipMemCreate(&handle, step, &property, 0));
    CHECK(hipMemMap(static_cast<char *>(place) + i * step, step, 0, handle, 0));
  }
  hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  CHECK(hipMemSetAccess(place, 2 * step, &access, 1));
  const int n = 4096;
  std::vector<float> v(2 * step / sizeof(float), 0.5f);
  CHECK(hipMemcpy(place, v.data(), 2 * step, hipMemcpyHostToDevice));
  float *first = static_cast<float *>(place), *c = device<float>(n);
  // Across the border of the two.
  add<<<n / 256, 256>>>(first + step / sizeof(float) - n / 2, first, c, n);
  const unsigned h = hashOf(c, n);
  for (int i = 0; i < 2; ++i) CHECK(hipMemUnmap(static_cast<char *>(place) + i * step, step));
  CHECK(hipMemAddressFree(place, 2 * step));
  return h;
}
#endif

unsigned run(const std::string &what, int size) {
  if (what == "reach") return runReach();
  if (what == "apart") return runApart();
  if (what == "copies") return runCopies();
  if (what == "load") return runLoad();
  if (what == "agents") return runAgents();
#if HIP_VERSION_MAJOR >= 6
  if (what == "mapped") return runMapped();
#endif
  if (what == "tabled") {
    int *out = device(numbers(64, 0xff));
    tabled<<<1, 64>>>(out);
    return hashOf(out, 64);
  }
  if (what == "astray") {
    astray<<<1, 64>>>(device(numbers(64, 0xff)), 1l << 40);
    CHECK(hipDeviceSynchronize());
  }
  if (what == "one_too_far") {
    int *in = device(numbers(1000, 0xffff)), *out = device<int>(1000);
    oneTooFar<<<4, 256>>>(in, out, 1000);
    return hashOf(out, 999);
  }
  if (what == "add") return runAdd(size ? size : 100000);
  if (what == "chase") return runChase();
  if (what == "variables") return runVariables();
  if (what == "host_memory") return runHostMemory();
  if (what == "streams") return runStreams();
  if (what == "graph") return runGraph();
  if (what == "cooperative") return runCooperative();
  if (what == "wait_value") return runWaitValue();
  if (what == "gather") return runGather(size ? size : 4);
  if (what == "dynamic_lds") {
    int *in = device(numbers(16 * 256, 0xffff)), *out = device<int>(16 * 256);
    dynamicLds<<<16, 256, 256 * sizeof(int)>>>(in, out);
    return hashOf(out, 16 * 256);
  }
  if (what == "functions") {
    Function *chosen = device<Function>(2);
    char *objects = device<char>(64 * 32);
    int *out = device<int>(1024);
    makeObjects<<<1, 1>>>(chosen, objects);
    callObjects<<<4, 256>>>(chosen, objects, out);
    return hashOf(out, 1024);
  }
  if (what == "float_sum") {
    std::vector<float> v(4096);
    for (float &x : v) x = static_cast<float>(next()) / 1e5f;
    float *in = device(v), *sum = device<float>(4);
    floatSum<<<16, 256>>>(sum, in, 4096);
    CHECK(hipDeviceSynchronize());
    return 0;
  }
  if (what == "printf") {
    int *out = device<int>(64);
    say<<<1, 64>>>(out);
    return hashOf(out, 64);
  }
  if (what == "scratch") {
    int *in = device(numbers(1024, 0xff)), *out = device<int>(2048);
    scratch<<<8, 256>>>(in, out);
    return hashOf(out, 2048);
  }
  if (what == "recursion") {
    unsigned *out = device<unsigned>(64);
    recursion<<<1, 64>>>(out);
    return hashOf(out, 64);
  }
  if (what == "heap") {
    Node **lists = device<Node *>(128);
    unsigned *sums = device<unsigned>(128);
    buildLists<<<2, 64>>>(lists, 3);
    sumLists<<<2, 64>>>(lists, sums);
    return hashOf(sums, 128);
  }
  if (what == "malloc") {
    unsigned *sums = device<unsigned>(128);
    mallocAndFree<<<2, 64>>>(sums);
    return hashOf(sums, 128);
  }
  std::fprintf(stderr, "unknown scenario %s\n", what.c_str());
  std::exit(2);
}

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "add";
  const unsigned h = run(what, argc > 2 ? std::atoi(argv[2]) : 0);
  CHECK(hipDeviceSynchronize());
  std::printf("%s %08x\n", what.c_str(), h);
}
