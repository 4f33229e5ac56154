// Asks HIP in ways that the tests of fadeprobe trace want to see, and says what it did.
//   asking structures    functions that take and give structures
//   asking rtc GPU       a kernel that is compiled while the program runs, before the GPU is used
//   asking callbacks     functions of the host between kernels
//   asking branches N    a graph with parallel branches, launched N times beside other launches
//   asking modules FILE  kernels of a code object, launched in all ways
// The workgroups of a launch tell which one it was.
#include "check.h"

#include <atomic>
#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>
#include <string>
#include <thread>
#include <vector>

namespace {

__global__ void count(int *out) { atomicAdd(out, 1); }
__global__ void twice(int *out) { atomicAdd(out, 2); }

void say(const char *name, const std::string &text) {
  std::printf(" \"%s\": \"%s\",", name, text.c_str());
}
void say(const char *name, unsigned long long number, bool is_last = false) {
  std::printf(" \"%s\": %llu%s", name, number, is_last ? "}\n" : ",");
}
std::string address(const void *pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

int structures() {
  std::printf("{");
  int *memory = nullptr;
  CHECK(hipMalloc(&memory, 4096)); // FADE is loaded
  hipDeviceProp_t properties{};
  CHECK(hipGetDeviceProperties(&properties, 0));
  say("device", properties.name);
  say("arch", properties.gcnArchName);
  say("units", static_cast<unsigned>(properties.multiProcessorCount));
  say("memory", properties.totalGlobalMem);
  say("grid", static_cast<unsigned>(properties.maxGridSize[1]));
  std::printf(" \"bits\": [%u, %u],", properties.arch.hasDoubles,
              properties.arch.hasDynamicParallelism);
  hipPointerAttribute_t attributes{};
  CHECK(hipPointerGetAttributes(&attributes, memory));
  say("pointer", address(attributes.devicePointer));
  hipFuncAttributes function{};
  CHECK(hipFuncGetAttributes(&function, reinterpret_cast<const void *>(count)));
  say("registers", static_cast<unsigned>(function.numRegs));
  say("threads", static_cast<unsigned>(function.maxThreadsPerBlock));
  hipPitchedPtr box{};
  // Debian's ROCr for arm64 has no images, and HIP then no memory with a pitch.
  const bool is_pitched = hipMalloc3D(&box, {100, 5, 3}) == hipSuccess;
  if (!is_pitched) {
    box = {nullptr, 128, 100, 5};
    CHECK(hipMalloc(&box.ptr, 128 * 5 * 3));
  }
  say("pitched", is_pitched);
  say("box", address(box.ptr));
  say("pitch", box.pitch);
  std::vector<char> host(100 * 5 * 3, 1);
  hipMemcpy3DParms copy{};
  copy.srcPtr = {host.data(), 100, 100, 5};
  copy.dstPtr = box;
  copy.extent = {100, 5, 3};
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  hip_Memcpy2D flat{};
  flat.srcMemoryType = hipMemoryTypeDevice;
  flat.srcDevice = box.ptr;
  flat.srcPitch = box.pitch;
  flat.dstMemoryType = hipMemoryTypeHost;
  flat.dstHost = host.data();
  flat.dstPitch = 100;
  flat.WidthInBytes = 64;
  flat.Height = 5;
  CHECK(hipMemcpyParam2D(&flat));
  hipGraph_t graph = nullptr;
  CHECK(hipGraphCreate(&graph, 0));
  void *arguments[] = {&memory};
  hipKernelNodeParams node{};
  node.func = reinterpret_cast<void *>(count);
  node.gridDim = dim3(7, 6, 5);
  node.blockDim = dim3(32, 2, 1);
  node.sharedMemBytes = 16;
  node.kernelParams = arguments;
  hipGraphNode_t added = nullptr;
  CHECK(hipGraphAddKernelNode(&added, graph, nullptr, 0, &node));
  hipKernelNodeParams again{};
  CHECK(hipGraphKernelNodeGetParams(added, &again));
  say("host", address(host.data()));
  say("node_grid", again.gridDim.y);
  // Refused: the structure is an output.
  const hipError_t refused = hipGetDeviceProperties(&properties, 99);
  (void)hipGetLastError();
  say("refused", static_cast<unsigned>(refused), true);
  return 0;
}

/// hiprtc is a library of its own since HIP 6.
void *rtcFunction(const char *name) {
  static void *library = [] {
    for (const char *file : {"libhiprtc.so.6", "libhiprtc.so.7"})
      if (void *found = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return found;
    return static_cast<void *>(RTLD_DEFAULT);
  }();
  return dlsym(library, name);
}
#define RTC(name) reinterpret_cast<decltype(&name)>(rtcFunction(#name))

int rtc(const char *gpu) {
  hiprtcProgram program = nullptr;
  const char *source = "extern \"C\" __global__ void made(int *out) { atomicAdd(out, 5); }";
  if (RTC(hiprtcCreateProgram)(&program, source, "made.cpp", 0, nullptr, nullptr) != 0) return 81;
  const std::string arch = std::string("--offload-arch=") + gpu;
  const char *options[] = {arch.c_str()};
  if (RTC(hiprtcCompileProgram)(program, 1, options) != 0) return 82;
  size_t size = 0;
  RTC(hiprtcGetCodeSize)(program, &size);
  std::vector<char> code(size);
  RTC(hiprtcGetCode)(program, code.data());
  RTC(hiprtcDestroyProgram)(&program);
  // HIP 5 and 6 have it in their own library, which HIP 6 has beside the other one.
  int numbers[2] = {};
  if (auto *own = reinterpret_cast<decltype(&hiprtcVersion)>(dlsym(RTLD_DEFAULT, "hiprtcVersion")))
    own(&numbers[0], &numbers[1]);
  int *memory = nullptr;
  CHECK(hipMalloc(&memory, 4096));
  CHECK(hipMemset(memory, 0, 4096));
  hipModule_t module = nullptr;
  hipFunction_t kernel = nullptr;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&kernel, module, "made"));
  void *arguments[] = {&memory};
  for (unsigned i = 1; i <= 3; ++i)
    CHECK(hipModuleLaunchKernel(kernel, i, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  int sum = 0;
  CHECK(hipMemcpy(&sum, memory, sizeof sum, hipMemcpyDeviceToHost));
  std::printf("{\"size\": %zu, \"sum\": %d, \"version\": %d}\n", size, sum, numbers[0]);
  return 0;
}

/// HIP 5.2 declares it and does not have it.
hipError_t launchHost(hipStream_t stream, hipHostFn_t function, void *data) {
  static auto *const launch =
      reinterpret_cast<decltype(&hipLaunchHostFunc)>(dlsym(RTLD_DEFAULT, "hipLaunchHostFunc"));
  if (launch) return launch(stream, function, data);
  struct Task {
    hipHostFn_t function;
    void *data;
  };
  return hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void *data) {
        const auto *task = static_cast<Task *>(data);
        task->function(task->data);
        delete task;
      },
      new Task{function, data}, 0);
}

int callbacks() {
  int *memory = nullptr;
  CHECK(hipMalloc(&memory, 4096));
  hipStream_t streams[2];
  static std::atomic<int> called{0};
  for (hipStream_t &stream : streams) CHECK(hipStreamCreate(&stream));
  for (unsigned round = 0; round < 5; ++round)
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned grid = 1 + 10 * round + 3 * i;
      count<<<grid, 64, 0, streams[i]>>>(memory);
      CHECK(launchHost(
          streams[i], [](void *) { ++called; }, nullptr));
      twice<<<grid + 1, 64, 0, streams[i]>>>(memory);
      CHECK(hipStreamAddCallback(
          streams[i],
          [](hipStream_t, hipError_t, void *) {
            int device = -1;
            if (hipGetDevice(&device) == hipSuccess) ++called;
          },
          nullptr, 0));
      count<<<grid + 2, 64, 0, streams[i]>>>(memory);
    }
  CHECK(hipDeviceSynchronize());
  std::printf("%d\n", called.load());
  return 0;
}

int branches(int times) {
  int *memory = nullptr;
  CHECK(hipMalloc(&memory, 4096));
  hipStream_t trunk, branch, other;
  for (hipStream_t *stream : {&trunk, &branch, &other}) CHECK(hipStreamCreate(stream));
  hipEvent_t fork, join;
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  CHECK(hipStreamBeginCapture(trunk, hipStreamCaptureModeGlobal));
  count<<<1, 64, 0, trunk>>>(memory);
  CHECK(hipEventRecord(fork, trunk));
  CHECK(hipStreamWaitEvent(branch, fork, 0));
  twice<<<2, 64, 0, branch>>>(memory);
  count<<<3, 64, 0, trunk>>>(memory);
  twice<<<4, 64, 0, branch>>>(memory);
  CHECK(hipEventRecord(join, branch));
  CHECK(hipStreamWaitEvent(trunk, join, 0));
  count<<<5, 64, 0, trunk>>>(memory);
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(trunk, &graph));
  hipGraphExec_t exec = nullptr;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  std::thread beside([&] {
    for (int i = 0; i < 3 * times; ++i) count<<<9, 64, 0, other>>>(memory);
    (void)hipStreamSynchronize(other);
  });
  for (int i = 0; i < times; ++i) {
    CHECK(hipGraphLaunch(exec, i % 2 == 0 ? trunk : branch));
    if (i % 2 == 1) CHECK(hipDeviceSynchronize());
  }
  CHECK(hipDeviceSynchronize());
  beside.join();
  return 0;
}

int modules(const char *file) {
  hipModule_t module = nullptr;
  hipFunction_t kernel = nullptr;
  float *memory = nullptr, by = 2;
  CHECK(hipMalloc(&memory, 4096));
  CHECK(hipModuleLoad(&module, file));
  CHECK(hipModuleGetFunction(&kernel, module, "scale"));
  int n = 0;
  void *arguments[] = {&memory, &by, &n};
  struct {
    float *memory;
    float by;
    int n;
  } packed{memory, by, n};
  size_t size = sizeof packed;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipModuleLaunchKernel(kernel, 3, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(hipExtModuleLaunchKernel(kernel, 4 * 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr,
                                 nullptr, nullptr, 0));
  CHECK(hipDeviceSynchronize());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "structures") return structures();
  if (mode == "rtc" && argc > 2) return rtc(argv[2]);
  if (mode == "callbacks") return callbacks();
  if (mode == "branches") return branches(argc > 2 ? std::atoi(argv[2]) : 1);
  if (mode == "modules" && argc > 2) return modules(argv[2]);
  return 2;
}
