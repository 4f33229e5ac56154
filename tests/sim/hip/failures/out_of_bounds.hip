// An access outside of all memory ends the program. The argument says which kind; the address is
// printed before, so that it can be compared with the report.
#include "../check.h"

__global__ void read_from(const int *p, int *out) { *out = p[threadIdx.x]; }
__global__ void write_to(int *p) { p[threadIdx.x] = 1; }
__global__ void add_to(int *p) { atomicAdd(p, 1); }
__global__ void call_to(void (*p)()) { p(); }
__global__ void scalar_read(const int *p, int *out) { *out = p[3]; }

int main(int argc, char **argv) {
  const std::string kind = argc > 1 ? argv[1] : "read";
  check::Device<int> out(64);
  int *bad = reinterpret_cast<int *>(0x7f5500001000);
  if (kind == "freed") {
    HIP(hipMalloc(&bad, 64 << 20));
    HIP(hipFree(bad));
  }
  if (kind == "host") bad = new int[64]; // ordinary host memory is not the device's
  if (kind == "null") bad = nullptr;
  std::printf("address 0x%zx\n", reinterpret_cast<uintptr_t>(bad + (kind == "scalar" ? 3 : 0)));
  std::fflush(stdout);
  if (kind == "write" || kind == "freed" || kind == "null")
    write_to<<<1, 1>>>(bad);
  else if (kind == "call")
    call_to<<<1, 1>>>(reinterpret_cast<void (*)()>(bad));
  else if (kind == "misaligned")
    add_to<<<1, 1>>>(reinterpret_cast<int *>(reinterpret_cast<char *>(out.get()) + 2));
  else if (kind == "atomic")
    add_to<<<1, 1>>>(bad);
  else if (kind == "scalar")
    scalar_read<<<1, 1>>>(bad, out);
  else
    read_from<<<1, 1>>>(bad, out);
  static_cast<void>(hipDeviceSynchronize());
  std::puts("the program went on");
  return 0;
}
