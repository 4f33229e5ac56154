// Instructions in assembly that come too early behind another one. A statement in assembly is one line of the source.
#include "cases.h"

// clang-format off

#define CASE(name, arguments) template <bool broken> __global__ void name arguments

#if defined(__GFX9__)
// What the compiler does before and behind a statement is far enough away.
#define AWAY "s_nop 7\n"

// VALU writes an SGPR, a load takes its address from it.
CASE(sgpr_address, (int *out, const int *in)) {
  int v;
  const int low = (int)(size_t)in, high = (int)((size_t)in >> 32);
  if (broken) {
    asm volatile(AWAY "v_readfirstlane_b32 s20, %1\n v_readfirstlane_b32 s21, %2\n s_nop 3\n global_load_dword %0, %3, s[20:21]\n s_waitcnt vmcnt(0)" : "=&v"(v) : "v"(low), "v"(high), "v"((int)threadIdx.x * 4) : "s20", "s21"); // finds: hazard on gfx9 says: (s21): 4 wait states between them
  } else {
    asm volatile(AWAY "v_readfirstlane_b32 s20, %1\n v_readfirstlane_b32 s21, %2\n s_nop 4\n global_load_dword %0, %3, s[20:21]\n s_waitcnt vmcnt(0)" : "=&v"(v) : "v"(low), "v"(high), "v"((int)threadIdx.x * 4) : "s20", "s21");
  }
  out[threadIdx.x] = v;
}

// A lane is selected by what VALU has just written.
CASE(lane_select, (int *out, int lane)) {
  int v;
  if (broken) {
    asm volatile(AWAY "v_readfirstlane_b32 s20, %1\n v_readlane_b32 s21, %2, s20\n v_nop\n v_nop\n v_mov_b32 %0, s21" : "=&v"(v) : "v"(lane), "v"((int)threadIdx.x) : "s20", "s21"); // finds: hazard on gfx9 says: s_nop 3 is missing
  } else {
    asm volatile(AWAY "v_readfirstlane_b32 s20, %1\n s_nop 3\n v_readlane_b32 s21, %2, s20\n v_nop\n v_nop\n v_mov_b32 %0, s21" : "=&v"(v) : "v"(lane), "v"((int)threadIdx.x) : "s20", "s21");
  }
  out[threadIdx.x] = v;
}

// DPP reads what VALU has written the instruction before.
CASE(dpp_source, (int *out)) {
  int v = threadIdx.x;
  if (broken) {
    asm volatile(AWAY "v_add_u32 v40, 1, %0\n s_nop 0\n v_mov_b32_dpp %0, v40 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n" AWAY : "+v"(v) : : "v40"); // finds: hazard on gfx9 says: (v40): 1 wait state between them
  } else {
    asm volatile(AWAY "v_add_u32 v40, 1, %0\n s_nop 1\n v_mov_b32_dpp %0, v40 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n" AWAY : "+v"(v) : : "v40");
  }
  out[threadIdx.x] = v;
}

// The mode is read while it is written.
CASE(mode_register, (int *out)) {
  int v;
  if (broken) {
    asm volatile("s_getreg_b32 s20, hwreg(HW_REG_MODE)\n s_setreg_b32 hwreg(HW_REG_MODE), s20\n s_getreg_b32 %0, hwreg(HW_REG_MODE)" : "=s"(v) : : "s20"); // finds: hazard on gfx9
  } else {
    asm volatile("s_getreg_b32 s20, hwreg(HW_REG_MODE)\n s_setreg_b32 hwreg(HW_REG_MODE), s20\n s_nop 1\n s_getreg_b32 %0, hwreg(HW_REG_MODE)" : "=s"(v) : : "s20");
  }
  out[threadIdx.x] = v;
}

// What is stored changes before it was read.
CASE(store_data, (int *out)) {
  if (broken) {
    asm volatile("v_mov_b32 v40, 1\n v_mov_b32 v41, 2\n v_mov_b32 v42, 3\n v_mov_b32 v43, 4\n global_store_dwordx4 %0, v[40:43], off\n v_mov_b32 v41, 0\n s_waitcnt vmcnt(0)\n" AWAY : : "v"(out + 4 * threadIdx.x) : "v40", "v41", "v42", "v43", "memory"); // finds: hazard on gfx9
  } else {
    asm volatile("v_mov_b32 v40, 1\n v_mov_b32 v41, 2\n v_mov_b32 v42, 3\n v_mov_b32 v43, 4\n global_store_dwordx4 %0, v[40:43], off\n s_nop 1\n v_mov_b32 v41, 0\n s_waitcnt vmcnt(0)\n" AWAY : : "v"(out + 4 * threadIdx.x) : "v40", "v41", "v42", "v43", "memory");
  }
}

// Around a loop: the SGPR is written at its end and used at its beginning.
CASE(around_a_loop, (int *out, int lane)) {
  int v = 0;
  if (broken) {
    asm volatile(AWAY "s_mov_b32 s20, 0\n s_mov_b32 s21, 4\n 1: v_readlane_b32 s22, %1, s20\n s_sub_u32 s21, s21, 1\n v_readfirstlane_b32 s20, %1\n s_cmp_lg_u32 s21, 0\n s_cbranch_scc1 1b\n v_mov_b32 %0, s22" : "=&v"(v) : "v"(lane) : "s20", "s21", "s22", "scc"); // finds: hazard on gfx9
  } else {
    asm volatile(AWAY "s_mov_b32 s20, 0\n s_mov_b32 s21, 4\n 1: v_readlane_b32 s22, %1, s20\n s_sub_u32 s21, s21, 1\n v_readfirstlane_b32 s20, %1\n s_cmp_lg_u32 s21, 0\n s_nop 1\n s_cbranch_scc1 1b\n v_mov_b32 %0, s22" : "=&v"(v) : "v"(lane) : "s20", "s21", "s22", "scc");
  }
  out[threadIdx.x] = v;
}
#else
CASE(sgpr_address, (int *, const int *)) {}
CASE(lane_select, (int *, int)) {}
CASE(dpp_source, (int *)) {}
CASE(mode_register, (int *)) {}
CASE(store_data, (int *)) {}
CASE(around_a_loop, (int *, int)) {}
#endif

// gfx1100: a transcendental result needs time, or a wait for it.
CASE(transcendental, (float *out, float x)) {
#if defined(__gfx1100__)
  float v = x;
  if (broken) {
    asm volatile("v_rcp_f32 v40, %0\n v_mul_f32 %0, v40, v40" : "+v"(v) : : "v40"); // finds: hazard on gfx1100
  } else {
    asm volatile("v_rcp_f32 v40, %0\n s_waitcnt_depctr 0xfff\n v_mul_f32 %0, v40, v40" : "+v"(v) : : "v40");
  }
  out[threadIdx.x] = v;
#else
  out[threadIdx.x] = x;
#endif
}

// gfx12: SALU writes a scalar register that VALU has read, and it is read at once.
CASE(scalar_again, (int *out)) {
  int v = threadIdx.x;
#if defined(__GFX12__)
  if (broken) {
    asm volatile("s_mov_b32 s20, 1\n s_wait_alu 0xfffe\n v_add_nc_u32 %0, s20, %0\n s_mov_b32 s20, 2\n v_add_nc_u32 %0, s20, %0" : "+v"(v) : : "s20"); // finds: hazard on gfx12
  } else {
    asm volatile("s_mov_b32 s20, 1\n s_wait_alu 0xfffe\n v_add_nc_u32 %0, s20, %0\n s_mov_b32 s20, 2\n s_wait_alu 0xfffe\n v_add_nc_u32 %0, s20, %0" : "+v"(v) : : "s20");
    asm volatile("s_mov_b32 s20, 2\n global_load_b32 v40, %1, off\n v_add_nc_u32 %0, s20, %0\n s_wait_loadcnt 0x0" : "+v"(v) : "v"(out) : "s20", "v40"); // memory instructions wait, too
  }
#endif
  out[threadIdx.x] = v;
}

// gfx950: rows of lanes change places too early behind what they are.
CASE(swapped_rows, (int *out)) {
  int v = threadIdx.x;
#if defined(__gfx950__) // v_permlane16_swap_b32 v40, v41
  if (broken) {
    asm volatile("v_mov_b32 v41, %0\n v_mov_b32 v40, %0\n s_nop 0\n .long 0x7e50b329\n s_nop 7\n v_mov_b32 %0, v40" : "+v"(v) : : "v40", "v41"); // finds: hazard on gfx950 says: (v40): 1 wait state between them
  } else {
    asm volatile("v_mov_b32 v41, %0\n v_mov_b32 v40, %0\n s_nop 1\n .long 0x7e50b329\n s_nop 7\n v_mov_b32 %0, v40" : "+v"(v) : : "v40", "v41");
  }
#endif
  out[threadIdx.x] = v;
}

template <bool broken> int run() {
  Device<int> out(1024), in(1024);
  Device<float> floats(64);
  sgpr_address<broken><<<1, 64>>>(out.data, in.data);
  lane_select<broken><<<1, 64>>>(out.data, 3);
  dpp_source<broken><<<1, 64>>>(out.data);
  mode_register<broken><<<1, 64>>>(out.data);
  store_data<broken><<<1, 64>>>(out.data);
  around_a_loop<broken><<<1, 64>>>(out.data, 3);
  transcendental<broken><<<1, 64>>>(floats.data, 2);
  scalar_again<broken><<<1, 64>>>(out.data);
  swapped_rows<broken><<<1, 64>>>(out.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
