// A kernel whose source becomes a code object only while the program runs (hiprtc).
#include "../check.h"

#include <hip/hiprtc.h>

#define RTC(call) EXPECT_EQ(std::string(hiprtcGetErrorString(call)), "HIPRTC_SUCCESS")

static const char *const source = R"(
template <class T> __device__ T power(T base, int exponent) {
  T result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}
extern "C" __global__ void powers(double *out, const double *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = power(in[i], EXPONENT);
}
)";

static std::vector<char> compile(const char *text, const char *definition, bool &good) {
  hiprtcProgram program;
  RTC(hiprtcCreateProgram(&program, text, "powers.hip", 0, nullptr, nullptr));
  const std::string arch = "--gpu-architecture=" + check::architecture();
  const char *options[] = {arch.c_str(), definition};
  good = hiprtcCompileProgram(program, 2, options) == HIPRTC_SUCCESS;
  size_t size = 0;
  std::vector<char> code;
  if (good) {
    RTC(hiprtcGetCodeSize(program, &size));
    code.resize(size);
    RTC(hiprtcGetCode(program, code.data()));
  } else {
    RTC(hiprtcGetProgramLogSize(program, &size));
    code.resize(size);
    RTC(hiprtcGetProgramLog(program, code.data()));
  }
  RTC(hiprtcDestroyProgram(&program));
  return code;
}

int main() {
  bool good = false;
  const auto code = compile(source, "-DEXPONENT=5", good);
  if (!EXPECT(good)) {
    std::fprintf(stderr, "%s\n", code.data());
    return check::result();
  }
  hipModule_t module;
  hipFunction_t function;
  HIP(hipModuleLoadData(&module, code.data()));
  HIP(hipModuleGetFunction(&function, module, "powers"));
  std::vector<double> in(300), want(300);
  for (int i = 0; i < 300; ++i) in[i] = i - 150, want[i] = in[i] * in[i] * in[i] * in[i] * in[i];
  check::Device<double> from(in), to(300);
  struct {
    double *out;
    double *in;
    int n;
  } arguments = {to, from, 300};
  size_t size = sizeof arguments;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 5, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_SAME(to.read(), want);
  HIP(hipModuleUnload(module));

  compile("this is no program", "-DEXPONENT=1", good);
  EXPECT(!good);
  return check::result();
}
