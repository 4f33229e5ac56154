// Launches a kernel named scale twice for each line on stdin, with what the line says in front:
//   (nothing)      the kernel of this program
//   file PATH      the code object, loaded from its file; the kernel stays for the lines that
//   follow data PATH      the same from memory unload         unloads it
// and prints the first element after each pair.
#include "check.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#define VERSION 1
#include "../kernels/scale.hip"

int main() {
  constexpr int n = 300;
  float *x;
  CHECK(hipMalloc(&x, n * sizeof(float)));
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "unload") {
      CHECK(hipModuleUnload(module));
      function = nullptr;
    } else if (line.rfind("file ", 0) == 0) {
      CHECK(hipModuleLoad(&module, line.c_str() + 5));
      CHECK(hipModuleGetFunction(&function, module, "scale"));
    } else if (line.rfind("data ", 0) == 0) {
      std::ifstream in(line.substr(5), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
      CHECK(hipModuleLoadData(&module, bytes.data()));
      CHECK(hipModuleGetFunction(&function, module, "scale"));
    }
    std::vector<float> host(n, 1.0f);
    CHECK(hipMemcpy(x, host.data(), n * sizeof(float), hipMemcpyHostToDevice));
    float by = 3;
    int count = n;
    for (int i = 0; i < 2; ++i)
      if (function) {
        void *arguments[] = {&x, &by, &count};
        CHECK(hipModuleLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
      } else {
        scale<<<3, 128>>>(x, by, count);
      }
    CHECK(hipMemcpy(host.data(), x, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 1; i < n; ++i)
      if (host[i] != host[0]) std::printf("element %d is %g\n", i, static_cast<double>(host[i]));
    std::printf("%g\n", static_cast<double>(host[0]));
    std::fflush(stdout);
  }
  return 0;
}
