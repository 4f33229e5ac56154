typedef struct { int a[5]; float b; } Big;
__kernel __attribute__((reqd_work_group_size(64,2,1))) void mix(__global float *out, const __global int *restrict in, char c, Big big, float4 v, __local int *tmp) {
  size_t i = __builtin_amdgcn_workgroup_id_x()*64+__builtin_amdgcn_workitem_id_x();
  tmp[__builtin_amdgcn_workitem_id_x()] = in[i];
  __builtin_amdgcn_s_barrier();
  out[i] = tmp[63-__builtin_amdgcn_workitem_id_x()] + c + big.a[__builtin_amdgcn_workitem_id_y()] + v.x + printf("hello %d\n", (int)i);
}
__kernel void zero(void) {}
