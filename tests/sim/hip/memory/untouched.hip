// Memory that nobody touches costs nothing, and what was touched is given back when it is freed.
#include "../check.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

// Resident memory of this process, in MiB.
static long resident() {
  long pages = 0, all = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = -1;
    std::fclose(file);
  }
  return pages * (sysconf(_SC_PAGESIZE) >> 10) >> 10;
}

__global__ void touch(char *memory, size_t stride) {
  memory[(blockIdx.x * blockDim.x + threadIdx.x) * stride] = 1;
}

int main() {
  check::Device<int> first(64);
  LAUNCH(touch, 1, 64, reinterpret_cast<char *>(first.get()), 1); // the device is up and running
  HIP(hipDeviceSynchronize());

  size_t available = 0, total = 0;
  HIP(hipMemGetInfo(&available, &total));
  const size_t machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const size_t size = std::min(available, machine) / 2;
  const long before = resident();
  char *large = nullptr;
  HIP(hipMalloc(&large, size));
  EXPECT(resident() - before < 32);
  LAUNCH(touch, 1, 16, large, size / 16); // 16 places all over it
  HIP(hipDeviceSynchronize());
  EXPECT(resident() - before < 96); // pages may be large ones
  HIP(hipFree(large));

  char *used = nullptr;
  HIP(hipMalloc(&used, 64 << 20));
  HIP(hipMemset(used, 1, 64 << 20));
  HIP(hipDeviceSynchronize());
  EXPECT(resident() - before >= 60);
  HIP(hipFree(used));
  EXPECT(resident() - before < 48);
  return check::result();
}
