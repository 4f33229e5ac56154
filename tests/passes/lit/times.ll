; Times of blocks: the clock is read where a block begins and where it ends.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<times>' %t.ll -S | FileCheck %s
; RUN: %opt '-passes=fade<times>' %t.ll -o %t.bc && %llc -verify-machineinstrs -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES
; RUN: sed 's/PROCESSOR/gfx1100" "target-features"="+wavefrontsize32/' %s > %t.11.ll
; RUN: %opt '-passes=fade<times>' %t.11.ll -S | FileCheck %s --check-prefix=GFX11
; RUN: not %opt '-passes=fade<times;accesses>' %t.ll -S 2>&1 | FileCheck %s --check-prefix=STREAM

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i1 %c) #0 {
entry:
  store volatile i32 0, ptr addrspace(1) %p
  br i1 %c, label %yes, label %no
yes:
  store volatile i32 1, ptr addrspace(1) %p
  br label %no
no:
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @__fade_k(
; CHECK: asm sideeffect "s_mov_b
; CHECK: asm sideeffect "s_memtime s[86:87]"
; CHECK: store volatile i32 0
; CHECK: asm sideeffect "s_memtime s[88:89]\0As_waitcnt lgkmcnt(0)\0As_sub_u32 s88, s88, s86\0As_subb_u32 s89, s89, s87\0As_add_u32 [[A:s[0-9]+]], [[A]], s88\0As_addc_u32 [[B:s[0-9]+]], [[B]], s89"
; CHECK: yes:
; CHECK: asm sideeffect "s_memtime s[86:87]"
; CHECK: asm sideeffect "s_bcnt1_i32_b64
; CHECK: store volatile i32 1
; CHECK: asm sideeffect "s_memtime s[88:89]
; CHECK: no:
; CHECK: asm sideeffect "s_memtime s[86:87]"
; CHECK: asm sideeffect "s_memtime s[88:89]
; CHECK: global_atomic_add_x2

; Counters 0 and 1 are counts, 2 to 4 clocks.
; SITES: kernel 0 k twin=__fade_k at :0 modes=40 flags=10 counters=s{{[0-9]+}} to s89{{$}}
; SITES: site 0 block - {{[3-5]}} {{.*}}counter={{[01]$}}
; SITES: site 1 block - {{[3-5]}} {{.*}}counter={{[01]$}}
; SITES: site 2 block - {{[3-5]}} {{.*}}counter={{[01]$}}

; GFX11: s_getreg_b32 [[NOW:s[0-9]+]], hwreg(29, 0, 20)\0As_sub_u32 [[NOW]], [[NOW]], {{s[0-9]+}}\0As_and_b32 [[NOW]], [[NOW]], 0xfffff

; STREAM: error: fade: 'times' cannot be combined with accesses, blocks or kernel
attributes #0 = { "target-cpu"="PROCESSOR" }
