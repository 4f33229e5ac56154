; Instructions that gfx950 adds, by their encodings: assemblers before LLVM 20 do not know them. Each reads other scalar registers.
.text
.globl added
.p2align 8
.type added,@function
added:
  .long 0x7e00b00a             ; v_prng_b32 v0, s10
  .long 0x7e00b60b             ; v_cvt_f32_bf16 v0, s11
  .long 0xd2340200, 0x440c1901 ; v_bitop3_b32 v0, v1, s12, v3 bitop3:0x12
  .long 0xd2350000, 0x00360501 ; v_cvt_scalef32_pk_fp8_f32 v0, v1, v2, s13
  .long 0xddf48000, 0x000e0000 ; global_load_lds_dwordx4 v0, s[14:15]
  .long 0xe05d1000, 0x14040000 ; buffer_load_dwordx4 v0, s[16:19], s20 offen lds
  .long 0xd9c60000, 0x00000002 ; ds_read_b64_tr_b16 v[0:1], v2
  .long 0x7e00b501             ; v_permlane32_swap_b32 v0, v1
  s_cbranch_scc0 .Lout
  s_nop 1
.Lout:
  s_endpgm
.Ladded_end:
.size added, .Ladded_end - added
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel added
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
