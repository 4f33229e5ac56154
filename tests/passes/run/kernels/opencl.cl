// Kernels in OpenCL C.

__kernel void cl_tile(__global const int *in, __global int *out) {
  __local int tile[64];
  size_t l = get_local_id(0), i = get_global_id(0);
  tile[l] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[63 - l] + (int)get_group_id(0);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void cl_vectors(__global const int4 *in, __global short *out) {
  size_t i = get_global_id(0);
  int4 v = in[i];
  vstore2((short2)(v.x, v.y + v.z * v.w), i, out);
}

__kernel void cl_atomics(__global int *sums, __global int *order) {
  size_t i = get_global_id(0);
  atomic_add(&sums[i ^ 1], 3);
  atomic_cmpxchg(&order[i], 0, 5);
}

__constant int weights[4] = {1, 10, 100, 1000};
int weigh(__generic const int *p, size_t i) __attribute__((noinline));
int weigh(__generic const int *p, size_t i) { return p[i] * weights[i & 3]; }
__kernel void cl_generic(__global const int *in, __global int *out) {
  size_t i = get_global_id(0);
  out[i] = weigh(in, i ^ 3);
}
