// What HIP's kernel of this name does before each cooperative launch: sets the device's global wave
// sync for so many workgroups that meet. Tools know the name and leave such kernels alone.
kernel void __amd_rocclr_gwsInit(uint groups_less_one) {
#if !defined(__gfx1200__) && !defined(__gfx1201__) // they have none
  __builtin_amdgcn_ds_gws_init(groups_less_one, 0);
#endif
}
