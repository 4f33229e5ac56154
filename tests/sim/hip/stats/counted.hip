// Launches the kernel of counted.S three workgroups of 100 work-items at a time. The argument is
// its code object.
#include "../check.h"

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  hipModule_t module;
  hipFunction_t counted;
  HIP(hipModuleLoad(&module, argv[1]));
  HIP(hipModuleGetFunction(&counted, module, "counted"));
  std::vector<unsigned> in(1024), want;
  for (int i = 0; i < 100; ++i) in[i] = i * 7 + 1;
  check::Device<unsigned> buffer(in);
  unsigned *pointer = buffer;
  void *args[] = {&pointer};
  HIP(hipModuleLaunchKernel(counted, 3, 1, 1, 100, 1, 1, 0, nullptr, args, nullptr));
  want = in;
  for (int i = 0; i < 16; ++i) {
    want[256 + i] = in[i];     // stored
    want[511 + i] = in[i] * 3; // added, once per workgroup
  }
  EXPECT_SAME(buffer.read(), want);
  return check::result();
}
