; Two kernels as Tensile writes them: functions without .size, aligned, padded with zeros.
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl first
.p2align 8
.type first,@function
first:
  s_mov_b32 s0, 1
  s_mov_b32 s1, 2
  s_endpgm
.globl second
.p2align 8
.type second,@function
second:
  v_mov_b32 v0, 0x12345678
  s_nop 0
  s_endpgm
  .fill 16, 4, 0
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel first
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 2
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdhsa_kernel second
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 2
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
