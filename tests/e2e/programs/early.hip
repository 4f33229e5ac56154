// A kernel in assembly, one instruction of which comes too early behind another ("broken"), or
// waits long enough. Both give the same result on the software GPU.
#include "check.h"

#include <cstring>

// clang-format off
template <bool is_broken> __global__ void early(float *out) {
  float v = 1.0f + static_cast<float>(threadIdx.x);
#if defined(__GFX9__) // a lane is selected by what VALU has just written
  if (is_broken)
    asm volatile("s_nop 7\n v_readfirstlane_b32 s20, %1\n v_readlane_b32 s21, %0, s20\n v_nop\n v_nop\n v_mov_b32 %0, s21" : "+v"(v) : "v"(0) : "s20", "s21");
  else
    asm volatile("s_nop 7\n v_readfirstlane_b32 s20, %1\n s_nop 3\n v_readlane_b32 s21, %0, s20\n v_nop\n v_nop\n v_mov_b32 %0, s21" : "+v"(v) : "v"(0) : "s20", "s21");
#elif defined(__GFX10__) // an atomic on floats, and the mode that it needs changes
  if (is_broken)
    asm volatile("global_atomic_fmin %0, %1, off\n s_denorm_mode 15" : : "v"(out), "v"(v) : "memory");
  else
    asm volatile("global_atomic_fmin %0, %1, off\n v_nop\n v_nop\n v_nop\n s_denorm_mode 15" : : "v"(out), "v"(v) : "memory");
  v = 1;
#elif defined(__GFX12__) // SALU writes a register that VALU has read
  if (is_broken)
    asm volatile("s_mov_b32 s20, 0\n s_wait_alu 0xfffe\n v_or_b32 %0, s20, %0\n s_mov_b32 s20, 0\n v_or_b32 %0, s20, %0" : "+v"(v) : : "s20");
  else
    asm volatile("s_mov_b32 s20, 0\n s_wait_alu 0xfffe\n v_or_b32 %0, s20, %0\n s_mov_b32 s20, 0\n s_wait_alu 0xfffe\n v_or_b32 %0, s20, %0" : "+v"(v) : : "s20");
#elif defined(__gfx1150__) || defined(__gfx1151__) || defined(__gfx1152__) // lanes are exchanged while EXEC is written
  if (is_broken)
    asm volatile("v_cmpx_eq_f32 %0, %0\n v_permlane16_b32 v40, %0, 0, 0" : : "v"(v) : "v40");
  else
    asm volatile("v_cmpx_eq_f32 %0, %0\n v_mov_b32 v40, 0\n v_permlane16_b32 v40, %0, 0, 0" : : "v"(v) : "v40");
#else // a transcendental result
  if (is_broken)
    asm volatile("v_rcp_f32 v40, %0\n v_mul_f32 %0, v40, %0" : "+v"(v) : : "v40");
  else
    asm volatile("v_rcp_f32 v40, %0\n s_waitcnt_depctr 0xfff\n v_mul_f32 %0, v40, %0" : "+v"(v) : : "v40");
#endif
  if (threadIdx.x == 0) *out = v;
}
// clang-format on

int main(int, char **argv) {
  float *out = nullptr, result = 0;
  CHECK(hipMalloc(&out, sizeof *out));
  CHECK(hipMemset(out, 0, sizeof *out));
  for (int i = 0; i < 2; ++i)
    if (std::strcmp(argv[1], "broken") == 0)
      early<true><<<2, 64>>>(out);
    else
      early<false><<<2, 64>>>(out);
  CHECK(hipMemcpy(&result, out, sizeof result, hipMemcpyDeviceToHost));
  std::printf("%g\n", static_cast<double>(result));
}
