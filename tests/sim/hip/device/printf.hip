// Device printf: one line per work-item, every conversion, long strings, several kernels. The
// output is compared by the test.
#include "../check.h"

__global__ void formats(const char *text) {
  printf("plain\n");
  printf("%d %i %u %x %X %o %c %%\n", -5, 6, 4000000000u, 0xbeef, 0xBEEF, 8, 'z');
  printf("%ld %lld %lu %llx\n", -5000000000L, -6000000000LL, 7000000000UL, 0x123456789abcdefULL);
  printf("%f %.3f %10.2f|%-10.1f|%e %g\n", 1.5, 2.0f / 3.0f, 3.14159, 2.5, 12345.678, 0.0001);
  printf("%5d|%-5d|%05d|%+d\n", 42, 42, 42, 42);
  printf("%s and %s\n", text, "a literal");
  printf("%p\n", reinterpret_cast<void *>(0x1234));
  printf("%d%d%d%d%d%d%d%d%d%d%d%d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

__global__ void one_line_each(int base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 == 0)
    printf("item %d of block %d says %.2f\n", base + i, static_cast<int>(blockIdx.x), i * 0.25);
}

__global__ void lengths(int *out) {
  out[0] = printf("four");
  out[1] = printf("\n");
  out[2] = printf("%s\n", "");
}

int main(int argc, char **argv) {
  const std::string part = argc > 1 ? argv[1] : "formats";
  if (part == "formats") {
    std::string words = "a text that is longer than fifty-six bytes, so that it needs more than "
                        "one packet to the host";
    check::Device<char> text(std::vector<char>(words.c_str(), words.c_str() + words.size() + 1));
    LAUNCH(formats, 1, 1, text.get());
    HIP(hipDeviceSynchronize());
    check::Device<int> out(3);
    LAUNCH(lengths, 1, 1, out.get());
    EXPECT_SAME(out.read(), (std::vector<int>{4, 1, 1}));
  } else {
    for (int base : {0, 1000}) {
      LAUNCH(one_line_each, 5, 100, base);
      HIP(hipDeviceSynchronize());
    }
  }
  std::fflush(stdout);
  return check::result();
}
