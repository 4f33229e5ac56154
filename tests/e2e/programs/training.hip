// What a framework does on a GPU: operators with markers as PyTorch's autograd writes them, copies, a graph that is captured
// and launched again, two threads, and an error. For the tests of what is made from a trace; says how often it did what.
//   training STEPS
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <string>
#include <thread>
#include <vector>

__global__ void scale(float *x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
__global__ void add(float *x, const float *y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] += y[i];
}

static void check(hipError_t error, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: %s\n", line, hipGetErrorName(error));
  std::exit(1);
}
#define HIP(call) check(call, __LINE__)

constexpr unsigned kItems = 4096, kGroup = 256;

/// roctx, where there is one.
struct Markers {
  void *library = dlopen("libroctx64.so.4", RTLD_NOW);
  void (*mark)(const char *) = find<void(const char *)>("roctxMarkA");
  int (*push)(const char *) = find<int(const char *)>("roctxRangePushA");
  int (*pop)() = find<int()>("roctxRangePop");
  uint64_t (*start)(const char *) = find<uint64_t(const char *)>("roctxRangeStartA");
  void (*stop)(uint64_t) = find<void(uint64_t)>("roctxRangeStop");

  template <typename F> F *find(const char *name) {
    return library ? reinterpret_cast<F *>(dlsym(library, name)) : nullptr;
  }
};
static Markers &markers() {
  static Markers all;
  return all;
}

class Range {
public:
  explicit Range(const std::string &text) {
    if (markers().push) markers().push(text.c_str());
  }
  ~Range() {
    if (markers().pop) markers().pop();
  }
};

struct Model {
  Model() {
    HIP(hipStreamCreate(&stream));
    HIP(hipMalloc(reinterpret_cast<void **>(&x), kItems * sizeof(float)));
    HIP(hipMalloc(reinterpret_cast<void **>(&y), kItems * sizeof(float)));
    HIP(hipMemcpy(x, host.data(), kItems * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemset(y, 0, kItems * sizeof(float)));
  }
  ~Model() {
    HIP(hipFree(x));
    HIP(hipFree(y));
    HIP(hipStreamDestroy(stream));
  }
  void forward() { scale<<<kItems / kGroup, kGroup, 0, stream>>>(x, 0.5f); }
  void backward() { add<<<kItems / kGroup, kGroup, 0, stream>>>(x, y); }

  hipStream_t stream{};
  float *x{}, *y{};
  std::vector<float> host = std::vector<float>(kItems, 1.0f);
};

static void train(Model &model, int steps) {
  for (int i = 0; i < steps; ++i) {
    const Range step("step " + std::to_string(i));
    const std::string number = std::to_string(i);
    {
      const Range outer("aten::mul, seq = " + number + ", op_id = 1, sizes = [[4096], []], input_op_ids = []");
      model.forward();
      const Range inner("aten::add, seq = " + number + ", op_id = 2, sizes = [[4096], [4096]], input_op_ids = [1]");
      model.backward();
    }
    {
      const Range copy("aten::copy_, op_id = 3");
      HIP(hipMemcpyAsync(model.host.data(), model.x, kItems * sizeof(float), hipMemcpyDeviceToHost, model.stream));
    }
    HIP(hipStreamSynchronize(model.stream));
  }
}

static void launchGraph(Model &model, int times) {
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamBeginCapture(model.stream, hipStreamCaptureModeGlobal));
  model.forward();
  model.backward();
  model.forward();
  HIP(hipStreamEndCapture(model.stream, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < times; ++i) HIP(hipGraphLaunch(exec, model.stream));
  HIP(hipStreamSynchronize(model.stream));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
}

int main(int argc, char **argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 3;
  HIP(hipFree(nullptr)); // FADE sees what comes after the first call
  const uint64_t epoch = markers().start ? markers().start("epoch 1") : 0;
  Model model;
  train(model, steps);
  std::thread([&] {
    Model second;
    train(second, steps);
  }).join();
  if (markers().mark) markers().mark("half time");
  launchGraph(model, 4);
  void *much = nullptr;
  if (hipMalloc(&much, size_t{1} << 50) == hipSuccess) return 1;
  if (markers().stop) markers().stop(epoch);
  std::printf("%d steps\n", 2 * steps);
}
