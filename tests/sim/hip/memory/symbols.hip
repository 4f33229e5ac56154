// Device and constant variables hold their initial values, are seen by kernels, and can be read and
// written by the host as a whole and in part.
#include "../check.h"

__device__ int counter = 41;
__device__ float table[256] = {1.5f, 2.5f, -3.25f};
__constant__ int weights[64] = {7, 8, 9};
__constant__ struct Settings {
  double scale;
  uint64_t mask;
} settings = {0.5, 0xff00ff00ff00ff00ull};
__device__ int *pointer_to_counter = &counter;
static __device__ int hidden[32];

__global__ void use(double *out) {
  int i = threadIdx.x;
  out[i] = table[i] * settings.scale + weights[i % 64];
  if (i == 0) ++*pointer_to_counter;
  if (i < 32) hidden[i] = static_cast<int>(settings.mask >> i) & 1;
}

static void expect_use(double scale) {
  std::vector<float> values(256);
  int w[64];
  HIP(hipMemcpyFromSymbol(values.data(), HIP_SYMBOL(table), sizeof table));
  HIP(hipMemcpyFromSymbol(w, HIP_SYMBOL(weights), sizeof w));
  check::Device<double> out(256);
  LAUNCH(use, 1, 256, out.get());
  std::vector<double> want(256);
  for (int i = 0; i < 256; ++i) want[i] = values[i] * scale + w[i % 64];
  EXPECT_SAME(out.read(), want);
}

static int read_counter() {
  int v = 0;
  HIP(hipMemcpyFromSymbol(&v, HIP_SYMBOL(counter), sizeof v));
  return v;
}

int main() {
  EXPECT_EQ(read_counter(), 41);
  float first[4];
  HIP(hipMemcpyFromSymbol(first, HIP_SYMBOL(table), sizeof first));
  EXPECT(first[0] == 1.5f && first[1] == 2.5f && first[2] == -3.25f && first[3] == 0);
  expect_use(0.5);
  EXPECT_EQ(read_counter(), 42);

  int bits[32];
  HIP(hipMemcpyFromSymbol(bits, HIP_SYMBOL(hidden), sizeof bits));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(bits[i], static_cast<int>(0xff00ff00u >> i & 1));

  std::vector<float> values(256);
  for (int i = 0; i < 256; ++i) values[i] = 0.125f * i;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), values.data(), sizeof table));
  Settings s{-2.0, 0};
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(settings), &s, sizeof s));
  expect_use(-2.0);

  // Part of a variable, in a stream.
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  int two[2] = {100, 200}, back[3];
  HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(weights), two, sizeof two, 5 * sizeof(int),
                             hipMemcpyHostToDevice, stream));
  HIP(hipMemcpyFromSymbolAsync(back, HIP_SYMBOL(weights), sizeof back, 4 * sizeof(int),
                               hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(back[0] == 0 && back[1] == 100 && back[2] == 200);
  expect_use(-2.0);
  HIP(hipStreamDestroy(stream));

  // Addresses and sizes; a copy between variables.
  void *address;
  size_t size;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(counter)));
  HIP(hipGetSymbolSize(&size, HIP_SYMBOL(counter)));
  EXPECT_EQ(size, sizeof(int));
  int set = 1000;
  HIP(hipMemcpy(address, &set, sizeof set, hipMemcpyHostToDevice));
  EXPECT_EQ(read_counter(), 1000);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(hidden), address, sizeof(int), 4, hipMemcpyDeviceToDevice));
  HIP(hipMemcpyFromSymbol(bits, HIP_SYMBOL(hidden), sizeof bits));
  EXPECT_EQ(bits[1], 1000);
  HIP(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
  EXPECT_EQ(size, sizeof table);

  // Outside of a variable nothing is copied.
  EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(counter), two, sizeof two) != hipSuccess);
  EXPECT_EQ(read_counter(), 1000);
  return check::result();
}
