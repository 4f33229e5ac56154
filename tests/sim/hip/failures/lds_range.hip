// LDS beyond what a launch asked for reads as zero and swallows writes; what lies inside, aligned
// or not, is as written.
#include "../check.h"

__global__ void touch(int *out, int inside, int beyond) {
  extern __shared__ int lds[];
  lds[threadIdx.x] = 100 + threadIdx.x;
  __syncthreads();
  lds[beyond + threadIdx.x] = 7; // nobody's
  atomicAdd(&lds[beyond], 5);
  __syncthreads();
  out[2 * threadIdx.x] = lds[inside - threadIdx.x];
  out[2 * threadIdx.x + 1] = lds[beyond + threadIdx.x];
}

struct __attribute__((packed)) Odd {
  uint8_t skip;
  uint64_t value;
};
__global__ void unaligned(uint64_t *out, const Odd *from, Odd *to) {
  __shared__ Odd lds[64];
  lds[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = lds[63 - threadIdx.x].value;
  to[threadIdx.x] = lds[threadIdx.x];
}

int main() {
  check::Device<int> out(128);
  for (int beyond : {64, 1000, 16383, 1 << 20}) {
    touch<<<1, 64, 256>>>(out, 63, beyond);
    HIP(hipGetLastError());
    std::vector<int> want(128);
    for (int i = 0; i < 64; ++i) want[2 * i] = 163 - i;
    EXPECT_SAME(out.read(), want);
  }
  std::vector<Odd> odd(64);
  std::vector<uint64_t> reversed(64);
  for (int i = 0; i < 64; ++i)
    odd[i] = {static_cast<uint8_t>(i), 0x0123456789abcdefull * (i + 1)},
    reversed[63 - i] = 0x0123456789abcdefull * (i + 1);
  check::Device<Odd> from(odd), to(64);
  check::Device<uint64_t> values(64);
  LAUNCH(unaligned, 1, 64, values.get(), from.get(), to.get());
  EXPECT_SAME(values.read(), reversed);
  const auto back = to.read();
  EXPECT_EQ(std::memcmp(back.data(), odd.data(), sizeof(Odd) * 64), 0);
  return check::result();
}
