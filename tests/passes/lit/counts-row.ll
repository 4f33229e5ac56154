; Counts alone, in a kernel without loops in which a lane may come by all blocks: what is missing of all waves is counted,
; and a wave that misses nothing adds nothing.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %t.ll -o %t.bc && %llc -verify-machineinstrs -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES
; RUN: %llc -verify-machineinstrs -O0 -filetype=obj %t.bc -o %t.0.o
; RUN: %llc -verify-machineinstrs %t.bc -o - | FileCheck %s --check-prefix=CODE
; RUN: sed 's/PROCESSOR/gfx1030" "target-features"="+wavefrontsize32/' %s > %t.10.ll && %opt '-passes=fade<counts>' %t.10.ll -o %t.10.bc
; RUN: %llc -verify-machineinstrs %t.10.bc -o - | FileCheck %s --check-prefix=WAVE32
; RUN: sed 's/PROCESSOR/gfx1201" "target-features"="+wavefrontsize32/' %s > %t.12.ll && %opt '-passes=fade<counts>' %t.12.ll -S | FileCheck %s --check-prefix=GFX12
; RUN: sed 's/PROCESSOR/gfx1010" "target-features"="+wavefrontsize32/' %s > %t.101.ll && %opt '-passes=fade<counts>' %t.101.ll -S | FileCheck %s --check-prefix=GFX101

; What VALU reads was written by SALU, and is waited for.
; GFX12-LABEL: define amdgpu_kernel void @__fade_row(
; GFX12: s_bfm_b32 exec_lo, 2, 0\0As_waitcnt_depctr 0xfffe\0Av_mbcnt_lo
; EXEC changes when memory instructions have read it, and so do the registers of the last ones.
; GFX101-LABEL: define amdgpu_kernel void @__fade_row(
; GFX101: s_waitcnt_depctr 0xffe3\0As_waitcnt_vscnt null, 0x0\0As_bfm_b32 exec_lo, 2, 0
; GFX101-SAME: $0 offset:24\0As_waitcnt_depctr 0xffe3"

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @row(ptr addrspace(1) %p) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 50
  br i1 %few, label %first, label %middle
first:
  store volatile i32 %id, ptr addrspace(1) %p
  br label %middle
middle:
  %more = icmp ult i32 %id, 60
  br i1 %more, label %second, label %out
second:
  store volatile i32 1, ptr addrspace(1) %p
  br label %out
out:
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @__fade_row(
; CHECK: asm sideeffect "s_mov_b64 s[86:87], exec\0As_mov_b64 s[84:85], exec", "={s89},~{scc}"
; CHECK: first:
; CHECK-NEXT: asm sideeffect "s_xor_b64 s[86:87], s[86:87], exec", "={s89},~{scc}"
; CHECK: middle:
; CHECK-NOT: asm
; CHECK: second:
; CHECK-NEXT: asm sideeffect "s_xor_b64 s[84:85], s[84:85], exec", "={s89},~{scc}"
; CHECK: out:
; CHECK-NEXT: [[ANY:%[0-9]+]] = call i64 asm sideeffect "s_or_b64 $0, s[86:87], s[84:85]", "=&s,~{scc}"
; CHECK-NEXT: [[MISSES:%[0-9]+]] = icmp ne i64 [[ANY]], 0
; CHECK-NEXT: br i1 [[MISSES]], label %{{[0-9]+}}, label %[[END:[0-9]+]], !prof
; CHECK: load <4 x i32>, ptr addrspace(4)
; CHECK: asm sideeffect "s_bcnt1_i32_b64 s86, s[86:87]\0As_bcnt1_i32_b64 s84, s[84:85]\0As_bcnt1_i32_b64 s89, exec\0As_bfm_b64 exec, 2, 0
; CHECK-SAME: v_cmp_eq_u32 vcc, s89, v2\0Av_mov_b32 v1, 0\0Av_mov_b32 v3, 0\0Av_cndmask_b32 v0, 0, 1, vcc
; CHECK-SAME: global_atomic_add_x2 v4, v[0:1], $0 offset:16
; CHECK: [[END]]:
; CHECK-NEXT: ret void

; Only what every wave does, whichever lanes there are: nothing is counted.
define amdgpu_kernel void @straight(ptr addrspace(1) %p) #0 {
  store volatile i32 1, ptr addrspace(1) %p
  ret void
}
; CHECK-LABEL: define amdgpu_kernel void @__fade_straight(
; CHECK-NEXT: store volatile
; CHECK-NEXT: ret void

; No lane comes by both: what ran is counted.
define amdgpu_kernel void @either(ptr addrspace(1) %p) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 50
  br i1 %few, label %yes, label %no
yes:
  store volatile i32 %id, ptr addrspace(1) %p
  br label %out
no:
  store volatile i32 1, ptr addrspace(1) %p
  br label %out
out:
  ret void
}
; CHECK-LABEL: define amdgpu_kernel void @__fade_either(
; CHECK-NOT: s_xor
; CHECK: yes:
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 {{s[0-9]+}}, exec", "={s89},~{scc}"
; CHECK: v_min_u32 v0, 1, v2

; SITES: site 0 block - 0 missing
; SITES: site 1 block - 0 missing
; SITES: site 2 block - 0 missing
; SITES: site 3 block - 0 missing
; SITES: site 4 block - 0 missing
; SITES: site 5 block - 0 missing
; SITES: site 6 block - 0 missing
; SITES: site 7 block - 0 - {{.*}}counter=
; SITES: site 8 block - 0 - {{.*}}counter=
; SITES: site 9 block - 0 missing

; What is added is behind a branch, and arguments for it are loaded there.
; CODE: __fade_row:
; CODE-NOT: atomic
; CODE: s_cmp_{{eq|lg}}_u64
; CODE: s_cbranch_scc
; CODE: .amdhsa_kernel __fade_row
; CODE: .amdhsa_private_segment_fixed_size 0
; CODE: __fade_straight:
; CODE-NOT: s_getreg
; CODE: .amdhsa_kernel __fade_straight

; WAVE32: s_xor_b32 [[M:s[0-9]+]], [[M]], exec_lo
; WAVE32: v_cmp_eq_u32{{.*}} vcc_lo, s99, v2

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "target-cpu"="PROCESSOR" }
