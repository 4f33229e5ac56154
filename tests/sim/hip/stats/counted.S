// A kernel whose every instruction is written down, so that its counts can be worked out by hand; see
// counts.py. WAVE32 chooses the form for waves of 32 lanes.
.text
.globl counted
.p2align 8
.type counted,@function
counted:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v1, 2, v0
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
#ifdef WAVE32
  v_cmp_gt_u32_e32 vcc_lo, 16, v0
  s_and_saveexec_b32 s4, vcc_lo
#else
  v_cmp_gt_u32_e32 vcc, 16, v0
  s_and_saveexec_b64 s[4:5], vcc
#endif
  s_cbranch_execz done
  global_store_dword v1, v3, s[2:3] offset:1024
  global_atomic_add v1, v3, s[2:3] offset:2044
done:
  s_endpgm
.Lend:
.size counted, .Lend-counted

.rodata
.p2align 6
.amdhsa_kernel counted
  .amdhsa_group_segment_fixed_size 400
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
#ifdef WAVE32
  .amdhsa_wavefront_size32 1
#else
  .amdhsa_accum_offset 4
#endif
.end_amdhsa_kernel

#ifdef WAVE32
.amdgpu_metadata
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: counted
    .symbol: counted.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 400
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 1024
    .args:
      - { .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
.end_amdgpu_metadata
#else
.amdgpu_metadata
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: counted
    .symbol: counted.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 400
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 1024
    .args:
      - { .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
.end_amdgpu_metadata
#endif
