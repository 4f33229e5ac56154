; Since LLVM 24 the processor is part of the triple, and functions do not name it any more. The runtime
; is made for it, and has the wave size that functions ask for: 32 unless they say 64.
; REQUIRES: llvm-ge-24
; RUN: %opt '-passes=fade<accesses;blocks>' %s -o %t.bc
; RUN: %bare_llc -verify-machineinstrs -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES
; RUN: %opt '-passes=fade<accesses>' %s -S | FileCheck %s --check-prefixes=CHECK,GFX9
; RUN: sed s/amdgpu9.0a/amdgpu11.00/ %s | %opt '-passes=fade<accesses>' -S | FileCheck %s --check-prefixes=CHECK,GFX11
; RUN: sed 's/amdgpu9.0a/amdgpu10.30/; s/nounwind/nounwind "target-features"="+wavefrontsize64"/' %s > %t.64.ll
; RUN: %opt '-passes=fade<accesses>' %t.64.ll -S | FileCheck %s --check-prefix=WAVE64
; RUN: %opt '-passes=fade<accesses>' %t.64.ll -o %t.64.bc && %bare_llc -verify-machineinstrs -filetype=null %t.64.bc
; SITES: target=gfx90a
; SITES: kernel 0 k twin=__fade_k at :0 modes={{.*}} flags=8
; CHECK: target triple = "amdgpu{{.*}}-amd-amdhsa"
; Where the wave runs is in another register, HW_ID or HW_ID1.
; GFX9: call i32 @llvm.amdgcn.s.getreg(i32 63492)
; GFX11: call i32 @llvm.amdgcn.s.getreg(i32 63511)
; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK: call {{.*}}@__fade_rt_access
; WAVE64: define internal {{.*}}@__fade_rt_access{{.*}} #[[RUNTIME:[0-9]+]]
; WAVE64: attributes #[[RUNTIME]] = { {{.*}}"target-features"="+wavefrontsize64"

target triple = "amdgpu9.0a-amd-amdhsa"

define amdgpu_kernel void @k(ptr addrspace(1) %p) #0 {
  store i32 1, ptr addrspace(1) %p
  ret void
}

attributes #0 = { nounwind }
