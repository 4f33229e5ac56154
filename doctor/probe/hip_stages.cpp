// What needs HIP, rocBLAS or MIOpen.
#include "hip_library.h"
#include "stages.h"

#include <cmath>

namespace fade::probe {

std::string tryGraphs() {
  const Hip hip;
  struct MemsetNode { // hipMemsetParams
    void *to;
    unsigned element_bytes;
    size_t height, pitch;
    unsigned value;
    size_t width;
  };
  const auto create = hip.find<int (*)(void **, unsigned)>("hipGraphCreate");
  const auto add = hip.find<int (*)(void **, void *, void *const *, size_t, const MemsetNode *)>(
      "hipGraphAddMemsetNode");
  const auto instantiate =
      hip.find<int (*)(void **, void *, void **, char *, size_t)>("hipGraphInstantiate");
  const auto launch = hip.find<int (*)(void *, void *)>("hipGraphLaunch");
  const auto create_stream = hip.find<int (*)(void **)>("hipStreamCreate");
  const auto wait = hip.find<int (*)(void *)>("hipStreamSynchronize");
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
  void *library = openLibrary({"librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
                               "librocblas.so.0", "librocblas.so"});
  const Hip hip;
  const auto create = findIn<int (*)(void **)>(library, "rocblas_create_handle");
  using Sgemm = int (*)(void *, int, int, int, int, int, const float *, const float *, int,
                        const float *, int, const float *, float *, int);
  const auto sgemm = findIn<Sgemm>(library, "rocblas_sgemm");
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

namespace {

/// It works, and the result is wrong: worse than an error that a program can see.
struct Wrong : Failed {
  using Failed::Failed;
};

/// A convolution of 3 x 3 over 2 channels of 48 x 48, the size from which on RDNA 1 hangs, with
/// MIOpen. Its functions are those that have been there since ROCm 3.
class Convolution {
public:
  Convolution();
  /// Lets MIOpen look for the fastest way and takes it. Throws Failed.
  std::string byFinding();
  /// The ways that MIOpen offers without looking, until one works. Throws Failed.
  std::string immediately();

private:
  using Descriptor = void *;
  static constexpr int kChannels = 2, kSize = 48, kOutputs = 4, kCells = kSize * kSize;

  template <class F> F use(const char *name) const { return findIn<F>(library_, name); }
  /// Throws Failed if the result is wrong.
  void compare() const;

  void *library_ = openLibrary({"libMIOpen.so.1", "libMIOpen.so"});
  Hip hip_;
  std::vector<float> input_, weights_;
  void *handle_ = nullptr;
  Descriptor x_ = nullptr, w_ = nullptr, y_ = nullptr, conv_ = nullptr;
  const float *in_ = nullptr, *filter_ = nullptr;
  float *out_ = nullptr;
};

Convolution::Convolution() {
  const auto create_tensor = use<int (*)(Descriptor *)>("miopenCreateTensorDescriptor");
  const auto set_tensor =
      use<int (*)(Descriptor, int, int, int, int, int)>("miopenSet4dTensorDescriptor");
  constexpr int is_float = 1;
  input_.resize(kChannels * kCells);
  weights_.resize(kOutputs * kChannels * 9);
  for (size_t i = 0; i < input_.size(); ++i) input_[i] = static_cast<float>(i * 7 % 13) - 6;
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<float>(i * 5 % 11) - 5;
  check(use<int (*)(void **)>("miopenCreate")(&handle_), "miopenCreate");
  for (Descriptor *one : {&x_, &w_, &y_}) check(create_tensor(one), "miopenCreateTensorDescriptor");
  check(set_tensor(x_, is_float, 1, kChannels, kSize, kSize), "miopenSet4dTensorDescriptor");
  check(set_tensor(w_, is_float, kOutputs, kChannels, 3, 3), "miopenSet4dTensorDescriptor");
  check(set_tensor(y_, is_float, 1, kOutputs, kSize, kSize), "miopenSet4dTensorDescriptor");
  check(use<int (*)(Descriptor *)>("miopenCreateConvolutionDescriptor")(&conv_),
        "miopenCreateConvolutionDescriptor");
  check(use<int (*)(Descriptor, int, int, int, int, int, int, int)>(
            "miopenInitConvolutionDescriptor")(conv_, 0, 1, 1, 1, 1, 1, 1),
        "miopenInitConvolutionDescriptor");
  out_ = hip_.upload(std::vector<float>(kOutputs * kCells));
  in_ = hip_.upload(input_);
  filter_ = hip_.upload(weights_);
}

std::string Convolution::byFinding() {
  struct Choice { // miopenConvAlgoPerf_t
    int algorithm;
    float time;
    size_t memory;
  };
  const auto workspace_of =
      use<int (*)(void *, Descriptor, Descriptor, Descriptor, Descriptor, size_t *)>(
          "miopenConvolutionForwardGetWorkSpaceSize");
  using Find = int (*)(void *, Descriptor, const void *, Descriptor, const void *, Descriptor,
                       Descriptor, void *, int, int *, Choice *, void *, size_t, bool);
  const auto find_algorithm = use<Find>("miopenFindConvolutionForwardAlgorithm");
  using Forward = int (*)(void *, const void *, Descriptor, const void *, Descriptor, const void *,
                          Descriptor, int, const void *, Descriptor, void *, void *, size_t);
  const auto forward = use<Forward>("miopenConvolutionForward");
  size_t bytes = 0;
  check(workspace_of(handle_, w_, x_, conv_, y_, &bytes),
        "miopenConvolutionForwardGetWorkSpaceSize");
  float *workspace = hip_.upload(std::vector<float>(bytes / sizeof(float) + 1));
  Choice choice{};
  int found = 0;
  check(find_algorithm(handle_, x_, in_, w_, filter_, conv_, y_, out_, 1, &found, &choice,
                       workspace, bytes, false),
        "miopenFindConvolutionForwardAlgorithm");
  if (found == 0) throw Failed("MIOpen finds no way to compute a convolution");
  const float one = 1, zero = 0;
  check(forward(handle_, &one, x_, in_, w_, filter_, conv_, choice.algorithm, &zero, y_, out_,
                workspace, bytes),
        "miopenConvolutionForward");
  compare();
  return "3 x 3 over 48 x 48, algorithm " + std::to_string(choice.algorithm);
}

std::string Convolution::immediately() {
  struct Solution { // miopenConvSolution_t
    float time;
    size_t memory;
    uint64_t id;
    int algorithm;
  };
  using List =
      int (*)(void *, Descriptor, Descriptor, Descriptor, Descriptor, size_t, size_t *, Solution *);
  using Compile = int (*)(void *, Descriptor, Descriptor, Descriptor, Descriptor, uint64_t);
  using Forward = int (*)(void *, Descriptor, const void *, Descriptor, const void *, Descriptor,
                          Descriptor, void *, void *, size_t, uint64_t);
  const auto list = use<List>("miopenConvolutionForwardGetSolution");
  const auto compile = use<Compile>("miopenConvolutionForwardCompileSolution");
  const auto forward = use<Forward>("miopenConvolutionForwardImmediate");
  std::vector<Solution> solutions(16);
  size_t count = 0;
  check(list(handle_, w_, x_, conv_, y_, solutions.size(), &count, solutions.data()),
        "miopenConvolutionForwardGetSolution");
  for (size_t i = 0; i < count && i < solutions.size(); ++i) {
    const Solution &one = solutions[i];
    if (compile(handle_, w_, x_, conv_, y_, one.id) != 0) continue;
    float *workspace = hip_.upload(std::vector<float>(one.memory / sizeof(float) + 1));
    if (forward(handle_, w_, filter_, x_, in_, conv_, y_, out_, workspace, one.memory, one.id) != 0)
      continue;
    compare();
    return "solution " + std::to_string(one.id);
  }
  throw Failed("none of MIOpen's solutions can be used");
}

void Convolution::compare() const {
  check(hip_.synchronize(), "hipDeviceSynchronize");
  const auto got = hip_.download(out_, kOutputs * kCells);
  const auto at = [&](int channel, int row, int column) {
    const bool is_inside = row >= 0 && column >= 0 && row < kSize && column < kSize;
    return is_inside ? input_[static_cast<size_t>(channel * kCells + row * kSize + column)] : 0.0f;
  };
  for (int i = 0; i < kOutputs * kCells; ++i) {
    const int output = i / kCells, row = i % kCells / kSize, column = i % kSize;
    float sum = 0;
    for (int k = 0; k < kChannels * 9; ++k)
      sum += at(k / 9, row + k % 9 / 3 - 1, column + k % 3 - 1) *
             weights_[static_cast<size_t>(output * kChannels * 9 + k)];
    if (std::abs(got[static_cast<size_t>(i)] - sum) > 0.01f)
      throw Wrong("MIOpen's convolution is wrong");
  }
}

} // namespace

std::string tryMiopen() {
  Convolution convolution;
  std::string problem;
  try {
    return convolution.byFinding();
  } catch (const Wrong &) {
    throw;
  } catch (const Failed &why) {
    problem = why.what();
  }
  // Programs that do not search (PyTorch without benchmark mode) may work nevertheless.
  try {
    const std::string how = convolution.immediately();
    throw Limited(problem + "; without a search it works, with " + how);
  } catch (const Failed &why) {
    throw Failed(problem + "; without a search: " + why.what());
  }
}

} // namespace fade::probe
