// The kernels of fadeprobe peaks: each keeps one part of the GPU busy and does nothing else.
// Workgroups have 64 work-items.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef unsigned int u32;

#define KERNEL __kernel __attribute__((reqd_work_group_size(64, 1, 1)))

static u32 item(void) { return __builtin_amdgcn_workitem_id_x(); }
static u32 index(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + item(); }

KERNEL void peak_empty(__global float *out) {}

/// Eight chains of multiply-adds that do not wait for each other. The compiler must not know that
/// nothing is stored in the end, nor that a part of the sum is not looked at: it would leave out
/// what leads there.
#define CHAINS(NAME, T)                                                                            \
  KERNEL void NAME(__global float *out, u32 turns) {                                               \
    const T m = (T)(0.5f), c = (T)(1.0f);                                                          \
    T a0 = (T)(item()), a1 = a0 + c, a2 = a1 + c, a3 = a2 + c, a4 = a3 + c, a5 = a4 + c,           \
      a6 = a5 + c, a7 = a6 + c;                                                                    \
    for (u32 i = 0; i < turns; ++i) {                                                              \
      a0 = a0 * m + c, a1 = a1 * m + c, a2 = a2 * m + c, a3 = a3 * m + c;                          \
      a4 = a4 * m + c, a5 = a5 * m + c, a6 = a6 * m + c, a7 = a7 * m + c;                          \
    }                                                                                              \
    const T sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;                                           \
    if (ALL(sum) == -(float)turns) out[index()] = ALL(sum);                                        \
  }
#define ALL(x) (float)((x).s0 + (x).s1)
CHAINS(peak_f32, float2) // packed, where there is such a form
CHAINS(peak_f16, half2)
#undef ALL
#define ALL(x) (float)(x)
CHAINS(peak_f64, double)

/// Each turn reads four times 16 bytes; `mask` keeps the place in the buffer.
KERNEL void peak_read(__global const float4 *from, __global float *out, u32 turns, u32 mask,
                      u32 step) {
  float4 sum = 0;
  u32 at = index();
  for (u32 i = 0; i < turns; ++i) {
    sum += from[at & mask] + from[(at + step) & mask] + from[(at + 2 * step) & mask] +
           from[(at + 3 * step) & mask];
    at += 4 * step;
  }
  if (sum.x + sum.y + sum.z + sum.w == 12345) out[index()] = sum.x;
}

/// The same from LDS.
KERNEL void peak_lds(__global float *out, u32 turns) {
  __local float4 tile[256];
  for (u32 i = item(); i < 256; i += 64) tile[i] = (float4)(i);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  float4 sum = 0;
  u32 at = item();
  for (u32 i = 0; i < turns; ++i) {
    sum += tile[at & 255] + tile[(at + 64) & 255] + tile[(at + 128) & 255] + tile[(at + 192) & 255];
    at += 1;
  }
  if (sum.x + sum.y + sum.z + sum.w == 12345) out[index()] = sum.x;
}
