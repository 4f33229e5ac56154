// Graphs built by hand and captured from a stream do the same work every time they are launched.
#include "../check.h"

__global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void add(float *x, const float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}

constexpr int n = 1000;
constexpr size_t bytes = n * sizeof(float);

static void refill(std::vector<float> &v, float from) {
  for (int i = 0; i < n; ++i) v[i] = from + i;
}
static std::vector<float> numbers(float from) {
  std::vector<float> v(n);
  refill(v, from);
  return v;
}

static hipKernelNodeParams kernel_node(void *function, void **args) {
  hipKernelNodeParams p{};
  p.func = function;
  p.gridDim = dim3(4);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  return p;
}

// copy in -> scale -> add -> copy out, and a memset of the addend beside the scaling
static void built_by_hand() {
  check::Device<float> x(n), y(n);
  auto in = numbers(1);
  std::vector<float> out(n);
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  hipGraphNode_t copy_in, scaling, clearing, adding, copy_out;
  HIP(hipGraphAddMemcpyNode1D(&copy_in, graph, nullptr, 0, x, in.data(), bytes,
                              hipMemcpyHostToDevice));
  float by = 3;
  int count = n;
  float *px = x, *py = y;
  void *scale_args[] = {&px, &by, &count}, *add_args[] = {&px, &py, &count};
  auto scale_node = kernel_node(reinterpret_cast<void *>(scale), scale_args);
  HIP(hipGraphAddKernelNode(&scaling, graph, &copy_in, 1, &scale_node));
  hipMemsetParams set{};
  set.dst = y;
  set.elementSize = 1;
  set.width = bytes;
  set.height = 1;
  set.value = 0x40; // 0x40404040 is a float near 3
  HIP(hipGraphAddMemsetNode(&clearing, graph, nullptr, 0, &set));
  auto add_node = kernel_node(reinterpret_cast<void *>(add), add_args);
  hipGraphNode_t both[] = {scaling, clearing};
  HIP(hipGraphAddKernelNode(&adding, graph, both, 2, &add_node));
  HIP(hipGraphAddMemcpyNode1D(&copy_out, graph, &adding, 1, out.data(), x, bytes,
                              hipMemcpyDeviceToHost));
  size_t nodes = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 5u);

  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  const uint32_t bits = 0x40404040;
  float addend;
  std::memcpy(&addend, &bits, sizeof addend);
  for (int round = 0; round < 5; ++round) {
    refill(in, static_cast<float>(round * 10)); // the graph reads it anew
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    std::vector<float> want(n);
    for (int i = 0; i < n; ++i) want[i] = in[i] * 3 + addend;
    EXPECT_SAME(out, want);
  }

  // A node of the instantiated graph gets another argument.
  by = -2;
  HIP(hipGraphExecKernelNodeSetParams(exec, scaling, &scale_node));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = in[i] * -2 + addend;
  EXPECT_SAME(out, want);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
}

static void captured_from_streams() {
  check::Device<float> x(n), y(n);
  auto in_x = numbers(5), in_y = numbers(100);
  std::vector<float> out(n, -1);
  hipStream_t first, second;
  hipEvent_t fork, join;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  HIP(hipStreamBeginCapture(first, hipStreamCaptureModeGlobal));
  HIP(hipMemcpyAsync(x, in_x.data(), bytes, hipMemcpyHostToDevice, first));
  HIP(hipEventRecord(fork, first));
  HIP(hipStreamWaitEvent(second, fork, 0));
  HIP(hipMemcpyAsync(y, in_y.data(), bytes, hipMemcpyHostToDevice, second));
  scale<<<4, 256, 0, second>>>(y, 0.5f, n);
  scale<<<4, 256, 0, first>>>(x, 4.0f, n);
  HIP(hipEventRecord(join, second));
  HIP(hipStreamWaitEvent(first, join, 0));
  add<<<4, 256, 0, first>>>(x, y, n);
  HIP(hipMemcpyAsync(out.data(), x, bytes, hipMemcpyDeviceToHost, first));
  hipGraph_t graph;
  HIP(hipStreamEndCapture(first, &graph));
  EXPECT(out[0] == -1); // nothing ran yet

  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int round = 0; round < 5; ++round) {
    refill(in_x, static_cast<float>(round));
    HIP(hipGraphLaunch(exec, first));
    HIP(hipStreamSynchronize(first));
    std::vector<float> want(n);
    for (int i = 0; i < n; ++i) want[i] = in_x[i] * 4 + in_y[i] * 0.5f;
    EXPECT_SAME(out, want);
  }
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
  HIP(hipEventDestroy(fork));
  HIP(hipEventDestroy(join));
}

int main() {
  built_by_hand();
  captured_from_streams();
  return check::result();
}
