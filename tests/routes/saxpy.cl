// An OpenCL C kernel that is compiled with clang and loaded as a module.
kernel void saxpy(float a, global const float *x, global float *y, int n) {
  const int i = get_group_id(0) * 256 + get_local_id(0);
  if (i < n)
    y[i] = a * x[i] + y[i];
}
