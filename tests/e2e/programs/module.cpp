// Runs a kernel that somebody else compiled: module FILE KERNEL GROUPS ITEMS LDS [ARGUMENT...]
// An argument is "p", a buffer of 64 KiB with a number in each dword, "i7" or "f0.5". FILE is a
// code object, or source (.hip), which hiprtc compiles. Prints the sum of the first buffer
// afterwards.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const auto status = static_cast<int>(call);                                                    \
    if (status != 0) {                                                                             \
      std::printf("%s: %d\n", #call, status);                                                      \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

namespace {

constexpr std::size_t kWords = 16384;

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string compiled(const std::string &source) {
  hiprtcProgram program;
  CHECK(hiprtcCreateProgram(&program, source.c_str(), "module.hip", 0, nullptr, nullptr));
  CHECK(hiprtcCompileProgram(program, 0, nullptr));
  std::size_t size = 0;
  CHECK(hiprtcGetCodeSize(program, &size));
  std::string code(size, 0);
  CHECK(hiprtcGetCode(program, code.data()));
  CHECK(hiprtcDestroyProgram(&program));
  return code;
}

// The arguments as the kernel finds them, each where its alignment puts it.
class Arguments {
public:
  template <class T> void add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(&bytes_[at], &value, sizeof value);
  }
  std::vector<char> &bytes() { return bytes_; }

private:
  std::vector<char> bytes_;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  const std::string path = argv[1];
  std::string code = readFile(path);
  if (path.size() > 4 && path.substr(path.size() - 4) == ".hip") code = compiled(code);
  hipModule_t module;
  hipFunction_t kernel;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&kernel, module, argv[2]));
  std::vector<unsigned> words(kWords);
  std::iota(words.begin(), words.end(), 1u);
  Arguments arguments;
  void *first = nullptr;
  for (int i = 6; i < argc; ++i) {
    if (argv[i][0] == 'i') arguments.add(std::atoi(argv[i] + 1));
    if (argv[i][0] == 'f') arguments.add(static_cast<float>(std::atof(argv[i] + 1)));
    if (argv[i][0] != 'p') continue;
    void *buffer = nullptr;
    CHECK(hipMalloc(&buffer, kWords * 4));
    CHECK(hipMemcpy(buffer, words.data(), kWords * 4, hipMemcpyHostToDevice));
    if (!first) first = buffer;
    arguments.add(buffer);
  }
  std::size_t size = arguments.bytes().size();
  void *config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments.bytes().data(),
                    HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  const auto number = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
  CHECK(hipModuleLaunchKernel(kernel, number(3), 1, 1, number(4), 1, 1, number(5), nullptr, nullptr,
                              config));
  CHECK(hipDeviceSynchronize());
  if (first) CHECK(hipMemcpy(words.data(), first, kWords * 4, hipMemcpyDeviceToHost));
  std::printf("%u\n", std::accumulate(words.begin(), words.end(), 0u));
  return 0;
}
