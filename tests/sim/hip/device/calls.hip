// Calls on the device: through pointers, virtual functions, recursion, and with a stack whose size
// is known only at run time.
#include "../check.h"

#include <algorithm>
#include <new>

// ---- function pointers
using Operation = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ Operation table[] = {add, subtract, multiply};

__global__ void through_pointers(int *out, const int *which) {
  int i = threadIdx.x;
  Operation f = table[which[i]]; // lanes call different functions
  int v = i;
  for (int k = 1; k <= 3; ++k) v = f(v, k + i);
  out[i] = v;
}

static void function_pointers() {
  std::vector<int> which(256), want(256);
  for (int i = 0; i < 256; ++i) {
    which[i] = i * 7 % 3;
    int v = i;
    for (int k = 1; k <= 3; ++k)
      v = which[i] == 0 ? v + k + i : which[i] == 1 ? v - (k + i) : v * (k + i);
    want[i] = v;
  }
  check::Device<int> out(256), choice(which);
  LAUNCH(through_pointers, 1, 256, out.get(), choice.get());
  EXPECT_SAME(out.read(), want);
}

// ---- virtual functions
struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual double area() const = 0;
  __device__ virtual double twice() const { return 2 * area(); }
};
struct Square : Shape {
  double side;
  __device__ explicit Square(double s) : side(s) {}
  __device__ double area() const override { return side * side; }
};
struct Rectangle : Square {
  double other;
  __device__ Rectangle(double a, double b) : Square(a), other(b) {}
  __device__ double area() const override { return side * other; }
  __device__ double twice() const override { return Square::twice() + 0.5; }
};

__global__ void make(unsigned char *memory, Shape **shapes) {
  int i = threadIdx.x;
  void *at = memory + i * sizeof(Rectangle);
  shapes[i] = i % 3 ? new (at) Square(i) : new (at) Rectangle(i, i + 1);
}
__global__ void measure(Shape *const *shapes, double *out) {
  out[threadIdx.x] = shapes[threadIdx.x]->twice();
}

static void virtual_functions() {
  check::Device<unsigned char> memory(100 * sizeof(Rectangle) + 800);
  check::Device<Shape *> shapes(100);
  check::Device<double> out(100);
  LAUNCH(make, 1, 100, memory.get(), shapes.get());
  LAUNCH(measure, 1, 100, shapes.get(), out.get()); // another kernel finds the same tables
  std::vector<double> want(100);
  for (int i = 0; i < 100; ++i) want[i] = i % 3 ? 2.0 * i * i : 2.0 * i * (i + 1) + 0.5;
  EXPECT_SAME(out.read(), want);
}

// ---- recursion
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ unsigned long long fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

__device__ __noinline__ void sort(int *v, int from,
                                  int to) { // quicksort with its own array on the stack
  if (to - from < 2) return;
  int pivot = v[(from + to) / 2], i = from, j = to - 1;
  while (i <= j) {
    while (v[i] < pivot) ++i;
    while (v[j] > pivot) --j;
    if (i <= j) {
      int t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
  }
  sort(v, from, j + 1);
  sort(v, i, to);
}

__global__ void recurse(unsigned long long *out, int *sorted) {
  int i = threadIdx.x;
  out[3 * i] = ackermann(2, i % 4);
  out[3 * i + 1] = fibonacci(i % 13);
  out[3 * i + 2] = is_even(i % 40);
  int local[24];
  for (int k = 0; k < 24; ++k) local[k] = (k * 37 + i * 11) % 101;
  sort(local, 0, 24);
  for (int k = 0; k < 24; ++k) sorted[i * 24 + k] = local[k];
}

static void recursion() {
  check::Device<unsigned long long> out(3 * 192);
  check::Device<int> sorted(24 * 192);
  LAUNCH(recurse, 1, 192, out.get(), sorted.get());
  std::vector<unsigned long long> want(3 * 192);
  unsigned long long fib[13] = {0, 1};
  for (int i = 2; i < 13; ++i) fib[i] = fib[i - 1] + fib[i - 2];
  for (int i = 0; i < 192; ++i)
    want[3 * i] = 2 * (i % 4) + 3, want[3 * i + 1] = fib[i % 13], want[3 * i + 2] = i % 2 == 0;
  EXPECT_SAME(out.read(), want);
  auto got = sorted.read();
  for (int i = 0; i < 192; ++i) {
    std::vector<int> v(24), mine(got.begin() + 24 * i, got.begin() + 24 * (i + 1));
    for (int k = 0; k < 24; ++k) v[k] = (k * 37 + i * 11) % 101;
    std::sort(v.begin(), v.end());
    EXPECT_SAME(mine, v);
  }
}

// ---- arrays in private memory
__global__ void histogram(const unsigned char *in, int *out, int per_item) {
  int counts[64];
  for (int &c : counts) c = 0;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < per_item; ++k) ++counts[in[i * per_item + k] % 64];
  for (int k = 0; k < 64; ++k) out[i * 64 + k] = counts[k];
}

static void private_arrays() {
  const int items = 2048, per_item = 40;
  auto in = check::Random(2).bytes<unsigned char>(items * per_item);
  check::Device<unsigned char> from(in);
  check::Device<int> out(items * 64);
  LAUNCH(histogram, items / 256, 256, from.get(), out.get(), per_item);
  std::vector<int> want(items * 64);
  for (int i = 0; i < items * per_item; ++i) ++want[i / per_item * 64 + in[i] % 64];
  EXPECT_SAME(out.read(), want);
}

int main() {
  function_pointers();
  virtual_functions();
  recursion();
  private_arrays();
  return check::result();
}
