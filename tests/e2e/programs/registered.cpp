// Calls a HIP that uses rocprofiler-register.
#include <cstdio>
#include <cstring>

extern "C" int hipGetDeviceCount(int *);
extern "C" int hipGetDevice(int *);

int main() {
  const auto code = [] {
    unsigned long bytes = 0;
    std::memcpy(&bytes, reinterpret_cast<const void *>(&hipGetDevice), sizeof bytes);
    return bytes;
  };
  const unsigned long before = code();
  int count = 0, device = 0;
  (void)hipGetDeviceCount(&count);
  (void)hipGetDevice(&device);
  // A function that is patched begins with a jump; of arm64 that is b, of x86-64 e9.
#if defined(__aarch64__)
  const bool is_patched = (code() & 0xfc000000) == 0x14000000;
#else
  const bool is_patched = (code() & 0xff) == 0xe9;
#endif
  std::printf("%d %d %s\n", count, device,
              code() == before && !is_patched ? "in its own code" : "patched");
  return 0;
}
