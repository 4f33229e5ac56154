; Ways to go on in a kernel: those that a rewriter follows, and those that it must not touch.
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"

.macro kernel name
.text
.globl \name
.p2align 8
.type \name,@function
\name:
.endm

.macro end name
.L\name\()_end:
.size \name, .L\name\()_end - \name
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel \name
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.endm

; As Tensile jumps far: forward and back.
kernel long_jumps
  s_mov_b32 s2, 0
  s_getpc_b64 s[4:5]
  s_add_i32 s6, .Lforward-4-.Lfrom, 4
.Lfrom = .-8
  s_add_u32 s4, s4, s6
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
.Lback:
  s_endpgm
.Lforward:
  s_getpc_b64 s[4:5]
  s_add_i32 s6, .Lback-4-.Lfrom2, 4
.Lfrom2 = .-8
  s_abs_i32 s6, s6
  s_sub_u32 s4, s4, s6
  s_subb_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
end long_jumps

; SCC is read in another block than it is written in.
kernel flag_over_blocks
  s_cmp_eq_u32 s0, 0
  s_cbranch_vccz .Lout
  s_cbranch_scc1 .Lout
  s_nop 1
.Lout:
  s_endpgm
end flag_over_blocks

kernel calls_pointer
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
end calls_pointer

; Without a size, as Tensile's: the function may use all registers.
kernel calls_assembly
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
end calls_assembly
.size calls_assembly, 0

; Where the address is, nothing else can be.
kernel calls_and_forgets
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[4:5], s[4:5]
  s_endpgm
end calls_and_forgets

; As hipBLASLt calls an activation: the address of one of several functions, without sizes, that may
; use all registers.
.macro address to, function
  s_getpc_b64 s[\to:\to+1]
  s_add_i32 s6, \function-4-.Lfrom\@, 4
.Lfrom\@ = .-8
  s_add_u32 s[\to], s[\to], s6
  s_addc_u32 s[\to+1], s[\to+1], 0
.endm
.macro nothing
.endm
.macro load_it
  s_cbranch_vccz 2
  s_load_dwordx2 s[4:5], s[0:1], 0x0
.endm
.macro lose_it
  s_mov_b32 s4, 0
.endm
.macro look
  s_lshl_b32 s8, s4, 1
.endm
.macro may_look
  s_cbranch_vccz 1
  s_mov_b32 s4, 0
  look
.endm
.macro choosing name, chosen=nothing, between=nothing, inside=nothing, after=nothing
kernel \name
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lother_\name
  address 4, .Lfirst_\name
  s_branch .Lchosen_\name
.Lother_\name:
  address 4, .Lsecond_\name
.Lchosen_\name:
  \chosen
  s_swappc_b64 s[30:31], s[4:5]
  \between
  s_swappc_b64 s[30:31], s[4:5]
  \after
  s_endpgm
.Lfirst_\name:
  s_mov_b32 s34, 1
  s_setpc_b64 s[30:31]
.Lsecond_\name:
  \inside
  s_mov_b32 s70, 2
  s_setpc_b64 s[30:31]
end \name
.size \name, 0
.endm
choosing chooses
choosing chooses_or_loads, chosen=load_it
choosing chooses_and_loses, inside=lose_it
choosing chooses_and_looks, between=look
choosing chooses_and_may_look, after=may_look
choosing chooses_and_shows, inside=look

kernel jumps_anywhere
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[4:5]
end jumps_anywhere

kernel looks_at_itself
  s_getpc_b64 s[4:5]
  s_load_dword s6, s[4:5], 0x0
  s_endpgm
end looks_at_itself

kernel leaves_its_code
  s_branch 0x7000
end leaves_its_code

kernel is_no_code
  .long 0xffffffff
  s_endpgm
end is_no_code

; All scalar registers are in use, and of vector registers the last one or none.
.macro full name, more
kernel \name
  \more
  .set i, 0
  .rept 102
  s_mov_b32 s[i], 0
  .set i, i + 1
  .endr
  s_cbranch_scc0 .Lfull_\name
  s_nop 0
.Lfull_\name:
  s_endpgm
end \name
.endm
full is_full
full is_wholly_full, "v_mov_b32 v255, 0"

; Leaves too few scalar registers for what records its load.
kernel borrows
  .set i, 8
  .rept 94
  s_mov_b32 s[i], 0
  .set i, i + 1
  .endr
  global_load_dword v1, v0, s[20:21]
  s_waitcnt vmcnt(0)
  s_endpgm
end borrows

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels: []
...
.end_amdgpu_metadata

; A loop that begins where registers begin to be indexed, as compilers make it.
kernel indexes
  s_mov_b32 s2, 0
.Lindexed:
  s_set_gpr_idx_on s2, gpr_idx(SRC0)
  v_mov_b32 v3, v0
  s_set_gpr_idx_off
  s_add_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 3
  s_cbranch_scc1 .Lindexed
  s_endpgm
end indexes

; A block begins where they are still indexed on one of its ways.
kernel stops_indexing
  s_cbranch_scc1 .Lstop
  s_set_gpr_idx_on s2, gpr_idx(SRC0)
  v_mov_b32 v3, v0
.Lstop:
  s_set_gpr_idx_off
  s_endpgm
end stops_indexing
