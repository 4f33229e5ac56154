// What needs HIP, rocBLAS or MIOpen. They are opened by name when the program runs, with the few
// declarations that are needed of them: these parts have not changed since ROCm 5.
#include "stages.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <vector>

namespace fade::probe {
namespace {

/// The first of the libraries that can be loaded. Throws Skipped.
void *openFirst(std::initializer_list<const char *> names) {
  std::string last = "library", error;
  for (const char *name : names) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return library;
    const char *text = dlerror();
    // One that is there, and whose own libraries are not, is more interesting.
    if (text && !std::strstr(text, (std::string(name) + ": cannot open").c_str())) error = text;
    last = name;
  }
  throw Skipped(error.empty() ? last + " is not installed" : error);
}

template <class F> F find(void *library, const char *name) {
  auto function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) throw Skipped(std::string("this version has no ") + name);
  return function;
}

void check(int status, const char *what) {
  if (status != 0) throw Failed(std::string(what) + " failed with code " + std::to_string(status));
}

constexpr int kToDevice = 1, kToHost = 2;

/// The few functions of HIP.
struct Hip {
  void *library =
      openFirst({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
  int (*init)(unsigned) = find<int (*)(unsigned)>(library, "hipInit");
  int (*malloc)(void **, size_t) = find<int (*)(void **, size_t)>(library, "hipMalloc");
  int (*memcpy)(void *, const void *, size_t,
                int) = find<int (*)(void *, const void *, size_t, int)>(library, "hipMemcpy");
  int (*synchronize)() = find<int (*)()>(library, "hipDeviceSynchronize");

  Hip() { check(init(0), "hipInit"); }
  float *upload(const std::vector<float> &values) const {
    void *memory = nullptr;
    check(malloc(&memory, values.size() * sizeof(float)), "hipMalloc");
    check(memcpy(memory, values.data(), values.size() * sizeof(float), kToDevice), "hipMemcpy");
    return static_cast<float *>(memory);
  }
  std::vector<float> download(const float *from, std::size_t count) const {
    std::vector<float> values(count);
    check(memcpy(values.data(), from, count * sizeof(float), kToHost), "hipMemcpy");
    return values;
  }
};

} // namespace

std::string tryGraphs() {
  const Hip hip;
  struct MemsetNode { // hipMemsetParams
    void *to;
    unsigned element_bytes;
    size_t height, pitch;
    unsigned value;
    size_t width;
  };
  const auto create = find<int (*)(void **, unsigned)>(hip.library, "hipGraphCreate");
  const auto add = find<int (*)(void **, void *, void *const *, size_t, const MemsetNode *)>(
      hip.library, "hipGraphAddMemsetNode");
  const auto instantiate =
      find<int (*)(void **, void *, void **, char *, size_t)>(hip.library, "hipGraphInstantiate");
  const auto launch = find<int (*)(void *, void *)>(hip.library, "hipGraphLaunch");
  const auto create_stream = find<int (*)(void **)>(hip.library, "hipStreamCreate");
  const auto wait = find<int (*)(void *)>(hip.library, "hipStreamSynchronize");
  constexpr std::size_t count = 4096;
  const float *memory = hip.upload(std::vector<float>(count, 1.0f));
  void *graph = nullptr, *first = nullptr, *second = nullptr, *ready = nullptr, *stream = nullptr;
  check(create(&graph, 0), "hipGraphCreate");
  // The second node overwrites half of what the first one wrote, and has to come after it.
  MemsetNode node{const_cast<float *>(memory), 4, 1, count * 4, 0x40000000, count};
  check(add(&first, graph, nullptr, 0, &node), "hipGraphAddMemsetNode");
  node.value = 0x40400000;
  node.width = count / 2;
  check(add(&second, graph, &first, 1, &node), "hipGraphAddMemsetNode");
  check(instantiate(&ready, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
  check(create_stream(&stream), "hipStreamCreate");
  check(launch(ready, stream), "hipGraphLaunch");
  check(wait(stream), "hipStreamSynchronize");
  const auto got = hip.download(memory, count);
  for (std::size_t i = 0; i < count; ++i)
    if (got[i] != (i < count / 2 ? 3.0f : 2.0f))
      throw Failed("a graph of two nodes left wrong values");
  return "two nodes";
}

std::string tryRocblas() {
  void *library = openFirst({"librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
                             "librocblas.so.0", "librocblas.so"});
  const Hip hip;
  const auto create = find<int (*)(void **)>(library, "rocblas_create_handle");
  using Sgemm = int (*)(void *, int, int, int, int, int, const float *, const float *, int,
                        const float *, int, const float *, float *, int);
  const auto sgemm = find<Sgemm>(library, "rocblas_sgemm");
  constexpr int none = 111; // rocblas_operation_none
  constexpr int n = 64;
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[static_cast<size_t>(i)] = static_cast<float>(i * 7 % 13) - 6;
    b[static_cast<size_t>(i)] = static_cast<float>(i * 5 % 11) - 5;
  }
  void *handle = nullptr;
  check(create(&handle), "rocblas_create_handle");
  float *out = hip.upload(std::vector<float>(n * n));
  const float one = 1, zero = 0;
  check(sgemm(handle, none, none, n, n, n, &one, hip.upload(a), n, hip.upload(b), n, &zero, out, n),
        "rocblas_sgemm");
  check(hip.synchronize(), "hipDeviceSynchronize");
  const auto got = hip.download(out, n * n);
  for (int i = 0; i < n * n; ++i) { // columns first
    float sum = 0;
    for (int k = 0; k < n; ++k)
      sum += a[static_cast<size_t>(k * n + i % n)] * b[static_cast<size_t>(i / n * n + k)];
    if (got[static_cast<size_t>(i)] != sum) throw Failed("rocBLAS's product is wrong");
  }
  return "sgemm, 64 x 64";
}

std::string tryMiopen() {
  void *library = openFirst({"libMIOpen.so.1", "libMIOpen.so"});
  const Hip hip;
  using Descriptor = void *;
  const auto create = find<int (*)(void **)>(library, "miopenCreate");
  const auto create_tensor = find<int (*)(Descriptor *)>(library, "miopenCreateTensorDescriptor");
  const auto set_tensor =
      find<int (*)(Descriptor, int, int, int, int, int)>(library, "miopenSet4dTensorDescriptor");
  const auto create_conv =
      find<int (*)(Descriptor *)>(library, "miopenCreateConvolutionDescriptor");
  const auto set_conv = find<int (*)(Descriptor, int, int, int, int, int, int, int)>(
      library, "miopenInitConvolutionDescriptor");
  const auto workspace_of =
      find<int (*)(void *, Descriptor, Descriptor, Descriptor, Descriptor, size_t *)>(
          library, "miopenConvolutionForwardGetWorkSpaceSize");
  struct Choice { // miopenConvAlgoPerf_t
    int algorithm;
    float time;
    size_t memory;
  };
  using Find = int (*)(void *, Descriptor, const void *, Descriptor, const void *, Descriptor,
                       Descriptor, void *, int, int *, Choice *, void *, size_t, bool);
  const auto find_algorithm = find<Find>(library, "miopenFindConvolutionForwardAlgorithm");
  using Forward = int (*)(void *, const void *, Descriptor, const void *, Descriptor, const void *,
                          Descriptor, int, const void *, Descriptor, void *, void *, size_t);
  const auto forward = find<Forward>(library, "miopenConvolutionForward");

  // 3 x 3 over 2 channels of 48 x 48, the size from which on RDNA 1 hangs.
  constexpr int channels = 2, size = 48, outputs = 4, cells = size * size, is_float = 1;
  std::vector<float> input(channels * cells), weights(outputs * channels * 9);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 7 % 13) - 6;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 5 % 11) - 5;
  void *handle = nullptr;
  check(create(&handle), "miopenCreate");
  Descriptor x = nullptr, w = nullptr, y = nullptr, conv = nullptr;
  for (Descriptor *one : {&x, &w, &y}) check(create_tensor(one), "miopenCreateTensorDescriptor");
  check(set_tensor(x, is_float, 1, channels, size, size), "miopenSet4dTensorDescriptor");
  check(set_tensor(w, is_float, outputs, channels, 3, 3), "miopenSet4dTensorDescriptor");
  check(set_tensor(y, is_float, 1, outputs, size, size), "miopenSet4dTensorDescriptor");
  check(create_conv(&conv), "miopenCreateConvolutionDescriptor");
  check(set_conv(conv, 0, 1, 1, 1, 1, 1, 1), "miopenInitConvolutionDescriptor");
  size_t bytes = 0;
  check(workspace_of(handle, w, x, conv, y, &bytes), "miopenConvolutionForwardGetWorkSpaceSize");
  float *out = hip.upload(std::vector<float>(outputs * cells));
  float *workspace = hip.upload(std::vector<float>(bytes / sizeof(float) + 1));
  const float *in = hip.upload(input), *filter = hip.upload(weights);
  Choice choice{};
  int found = 0;
  check(find_algorithm(handle, x, in, w, filter, conv, y, out, 1, &found, &choice, workspace, bytes,
                       false),
        "miopenFindConvolutionForwardAlgorithm");
  if (found == 0) throw Failed("MIOpen finds no way to compute a convolution");
  const float one = 1, zero = 0;
  check(forward(handle, &one, x, in, w, filter, conv, choice.algorithm, &zero, y, out, workspace,
                bytes),
        "miopenConvolutionForward");
  check(hip.synchronize(), "hipDeviceSynchronize");
  const auto got = hip.download(out, outputs * cells);
  for (int o = 0; o < outputs; ++o)
    for (int row = 0; row < size; ++row)
      for (int column = 0; column < size; ++column) {
        float sum = 0;
        for (int c = 0; c < channels; ++c)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
              const int ry = row + dy, rx = column + dx;
              if (ry < 0 || rx < 0 || ry >= size || rx >= size) continue;
              sum += input[static_cast<size_t>(c * cells + ry * size + rx)] *
                     weights[static_cast<size_t>(((o * channels + c) * 3 + dy + 1) * 3 + dx + 1)];
            }
        const float value = got[static_cast<size_t>(o * cells + row * size + column)];
        if (std::abs(value - sum) > 0.01f) throw Failed("MIOpen's convolution is wrong");
      }
  return "3 x 3 over 48 x 48, algorithm " + std::to_string(choice.algorithm);
}

} // namespace fade::probe
