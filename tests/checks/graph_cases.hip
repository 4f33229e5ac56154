// Graphs, captured and made by hand. What is called while a stream is captured is not done yet; launches are in order with
// what else goes into their stream.
#include "cases.h"

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);

// Branches of a graph.
template <bool broken> __global__ void first_branch(int *p) {
  p[threadIdx.x] = threadIdx.x; // finds: race
}
template <bool broken> __global__ void second_branch(int *p) {
  p[threadIdx.x] = threadIdx.x + 1; // finds: race
}
// Nodes without an edge.
template <bool broken> __global__ void before_edge(int *p) {
  p[threadIdx.x] = 2 * threadIdx.x; // finds: race
}
template <bool broken> __global__ void behind_edge(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] + 1; // finds: race
}
// Memory that is freed between two launches.
template <bool broken> __global__ void uses_freed(int *p) {
  p[threadIdx.x] = 3; // finds: memory says: in freed memory
}
// A graph, and a kernel in a stream that does not wait for it.
template <bool broken> __global__ void in_graph(int *p) {
  p[threadIdx.x] = 5 * threadIdx.x; // finds: race
}
template <bool broken> __global__ void beside_graph(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] - 1; // finds: race
}
// A fill that is too short.
template <bool broken> __global__ void behind_fill(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 3; // finds: init
}
// A copy that no edge puts in order with a kernel: added by hand, and captured.
template <bool broken> __global__ void beside_copy(int *p) {
  p[threadIdx.x] = 7 * threadIdx.x; // finds: race
}
template <bool broken> __global__ void beside_captured(int *p, int value) {
  p[threadIdx.x] = value; // finds: race
}
// A captured copy of elements instead of bytes.
template <bool broken> __global__ void behind_copy(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 5; // finds: init
}
// Memory of a graph's own.
template <bool broken> __global__ void reads_own(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x] * 9; // finds: init
}
__global__ void fill(int *p, int value) { p[threadIdx.x] = value; }
__global__ void sum(const int *a, const int *b, int *out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

void launch(hipGraph_t graph, hipStream_t stream, int times = 3) {
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < times; ++i) HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
}

template <class Kernel>
hipGraphNode_t addKernel(hipGraph_t graph, Kernel *kernel, std::vector<void *> arguments,
                         std::vector<hipGraphNode_t> behind) {
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void *>(kernel), params.gridDim = dim3(1);
  params.blockDim = dim3(kCount), params.kernelParams = arguments.data();
  hipGraphNode_t node;
  HIP(hipGraphAddKernelNode(&node, graph, behind.data(), behind.size(), &params));
  return node;
}

template <bool broken> void run_branches(hipStream_t s, hipStream_t t, int *a, int *b, int *c) {
  hipEvent_t fork, join;
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  HIP(hipEventRecord(fork, s));
  HIP(hipStreamWaitEvent(t, fork, 0));
  first_branch<broken><<<1, kCount, 0, s>>>(a);
  second_branch<broken><<<1, kCount, 0, t>>>(broken ? a : b);
  HIP(hipEventRecord(join, t));
  HIP(hipStreamWaitEvent(s, join, 0));
  sum<<<1, kCount, 0, s>>>(b, b, c);
  HIP(hipStreamEndCapture(s, &graph));
  launch(graph, s);
  HIP(hipEventDestroy(fork));
  HIP(hipEventDestroy(join));
}

template <bool broken> void run_nodes(hipStream_t s, int *a, int *b, int *c) {
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  const auto first = addKernel(graph, before_edge<broken>, {&a}, {});
  const auto second = addKernel(graph, behind_edge<broken>, {&a, &b},
                                broken ? std::vector<hipGraphNode_t>{} : std::vector{first});
  addKernel(graph, sum, {&b, &b, &c}, {first, second});
  launch(graph, s);
}

template <bool broken> void run_freed(hipStream_t s) {
  int *p;
  HIP(hipMalloc(&p, kBytes));
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  uses_freed<broken><<<1, kCount, 0, s>>>(p);
  HIP(hipStreamEndCapture(s, &graph));
  if (broken) HIP(hipFree(p));
  launch(graph, s, 1);
  if (!broken) HIP(hipFree(p));
}

template <bool broken> void run_beside(hipStream_t s, int *a, int *b) {
  hipStream_t other;
  HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  hipEvent_t done;
  HIP(hipEventCreate(&done));
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  in_graph<broken><<<1, kCount, 0, s>>>(a);
  HIP(hipStreamEndCapture(s, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, s));
  HIP(hipEventRecord(done, s));
  if (!broken) HIP(hipStreamWaitEvent(other, done, 0));
  beside_graph<broken><<<1, kCount, 0, other>>>(a, b);
  finish();
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipEventDestroy(done));
}

void count(void *times) { ++*static_cast<int *>(times); }

template <bool broken> void run_copies(hipStream_t s, int *b, int *c) {
  Device<int> p(kCount, false);
  std::vector<int> back(kCount);
  int times = 0;
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  hipGraphNode_t set, copy, fetched, told;
  hipMemsetParams params{};
  params.dst = p.data, params.value = 1, params.elementSize = 4, params.height = 1;
  params.width = broken ? kCount / 2 : kCount, params.pitch = params.width * 4;
  HIP(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &params));
  const auto kernel = addKernel(graph, behind_fill<broken>, {&p.data, &b}, {set});
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, c, b, kBytes, hipMemcpyDeviceToDevice));
  HIP(hipGraphAddMemcpyNode1D(&fetched, graph, &copy, 1, back.data(), c, kBytes,
                              hipMemcpyDeviceToHost));
  hipHostNodeParams host{};
  host.fn = count, host.userData = &times;
  HIP(hipGraphAddHostNode(&told, graph, &fetched, 1, &host));
  launch(graph, s);
  if (times != 3) std::printf("the host node ran %d times\n", times);
}

template <bool broken> void run_copy_apart(hipStream_t s, int *a, int *b, int *c) {
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  const auto kernel = addKernel(graph, beside_copy<broken>, {&a}, {});
  hipGraphNode_t copy;
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, broken ? 0 : 1, b, a, // finds: race
                              kBytes, hipMemcpyDeviceToDevice));
  addKernel(graph, sum, {&b, &b, &c}, {copy, kernel});
  launch(graph, s);
}

template <bool broken> void run_captured_copy(hipStream_t s, hipStream_t t, int *a, int *c) {
  std::vector<int> values(kCount, 1);
  hipEvent_t fork, join;
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  fill<<<1, kCount, 0, s>>>(c, 3);
  if (broken) HIP(hipEventRecord(fork, s));
  beside_captured<broken><<<1, kCount, 0, s>>>(a, 4);
  if (!broken) HIP(hipEventRecord(fork, s));
  HIP(hipStreamWaitEvent(t, fork, 0));
  HIP(hipMemcpyAsync(a, values.data(), kBytes, hipMemcpyHostToDevice, t)); // finds: race
  HIP(hipEventRecord(join, t));
  HIP(hipStreamWaitEvent(s, join, 0));
  sum<<<1, kCount, 0, s>>>(a, a, c);
  HIP(hipStreamEndCapture(s, &graph));
  launch(graph, s);
  HIP(hipEventDestroy(fork));
  HIP(hipEventDestroy(join));
}

template <bool broken> void run_short_copy(hipStream_t s, int *c) {
  Device<int> p(kCount, false);
  std::vector<int> values(kCount, 1);
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  HIP(hipMemcpyAsync(p.data, values.data(), broken ? kCount : kBytes, hipMemcpyHostToDevice, s));
  behind_copy<broken><<<1, kCount, 0, s>>>(p.data, c);
  HIP(hipStreamEndCapture(s, &graph));
  launch(graph, s);
}

// HIP 5 has no such memory: there it is that of a device.
template <bool broken> void run_own_memory(hipStream_t s, int *c) {
  int *own;
  hipGraph_t graph;
#if HIP_VERSION_MAJOR < 6
  HIP(hipMalloc(&own, kBytes));
#endif
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
#if HIP_VERSION_MAJOR >= 6
  HIP(hipMallocAsync(reinterpret_cast<void **>(&own), kBytes, s));
#endif
  if (!broken) fill<<<1, kCount, 0, s>>>(own, 4);
  reads_own<broken><<<1, kCount, 0, s>>>(own, c);
#if HIP_VERSION_MAJOR >= 6
  HIP(hipFreeAsync(own, s));
#endif
  HIP(hipStreamEndCapture(s, &graph));
  launch(graph, s);
#if HIP_VERSION_MAJOR < 6
  HIP(hipFree(own));
#endif
}

// Clean: a launch, what is in its stream before and behind it, and the next launch.
void run_chain(hipStream_t s, hipStream_t t, int *a, int *b, int *c) {
  hipEvent_t fork, join;
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  HIP(hipEventRecord(fork, s));
  HIP(hipStreamWaitEvent(t, fork, 0));
  fill<<<1, kCount, 0, s>>>(a, 1);
  fill<<<1, kCount, 0, t>>>(b, 2);
  HIP(hipEventRecord(join, t));
  HIP(hipStreamWaitEvent(s, join, 0));
  sum<<<1, kCount, 0, s>>>(a, b, c);
#if HIP_VERSION_MAJOR >= 6
  int *own; // memory of the graph's own
  HIP(hipMallocAsync(reinterpret_cast<void **>(&own), kBytes, s));
  fill<<<1, kCount, 0, s>>>(own, 4);
  sum<<<1, kCount, 0, s>>>(own, b, c);
  HIP(hipFreeAsync(own, s));
#endif
  HIP(hipStreamEndCapture(s, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 8; ++i) {
    fill<<<1, kCount, 0, s>>>(b, i);
    HIP(hipGraphLaunch(exec, s));
    if (i % 3 == 0) HIP(hipStreamSynchronize(s));
    sum<<<1, kCount, 0, s>>>(c, b, a);
  }
  HIP(hipStreamSynchronize(s));
  sum<<<1, kCount, 0, t>>>(a, b, c);
  HIP(hipStreamSynchronize(t));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
}

template <bool broken> int run() {
  {
    Device<int> a(kCount), b(kCount), c(kCount);
    hipStream_t s, t;
    HIP(hipStreamCreate(&s));
    HIP(hipStreamCreate(&t));
    run_branches<broken>(s, t, a.data, b.data, c.data);
    run_nodes<broken>(s, a.data, b.data, c.data);
    run_freed<broken>(s);
    run_beside<broken>(s, a.data, b.data);
    run_copies<broken>(s, b.data, c.data);
    run_copy_apart<broken>(s, a.data, b.data, c.data);
    run_short_copy<broken>(s, c.data);
    run_own_memory<broken>(s, c.data);
    hipStream_t u, v; // HIP 5.2 captures a stream only once into the graph of another one
    HIP(hipStreamCreate(&u));
    HIP(hipStreamCreate(&v));
    hipStream_t x, y;
    HIP(hipStreamCreate(&x));
    HIP(hipStreamCreate(&y));
    run_captured_copy<broken>(x, y, a.data, c.data);
    run_chain(u, v, a.data, b.data, c.data);
    finish();
  }
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
