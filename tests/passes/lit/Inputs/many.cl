// Forty kernels, each with a function that is inlined and gone.
// clang-format off
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HELPER(n) static int helper_##n(int a, global int *p) { return a * n + p[a]; }
#define KERNEL(n) kernel void kernel_##n(global int *p) { *p = helper_##n(n, p); }
TEN(HELPER, 1) TEN(HELPER, 2) TEN(HELPER, 3) TEN(HELPER, 4)
TEN(KERNEL, 1) TEN(KERNEL, 2) TEN(KERNEL, 3) TEN(KERNEL, 4)
