; Atomics that exist as target intrinsics only.
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f) {
  %a = call <2 x half> @llvm.amdgcn.global.atomic.fadd.v2f16.p1.v2f16(ptr addrspace(1) %g, <2 x half> zeroinitializer)
  %b = call double @llvm.amdgcn.flat.atomic.fadd.f64.p0.f64(ptr %f, double 1.0)
  ret void
}
declare <2 x half> @llvm.amdgcn.global.atomic.fadd.v2f16.p1.v2f16(ptr addrspace(1), <2 x half>)
declare double @llvm.amdgcn.flat.atomic.fadd.f64.p0.f64(ptr, double)

; CHECK: site 0 atomic global 4 reads,writes,atomic
; CHECK-NEXT: site 1 atomic flat 8 reads,writes,atomic
; CHECK-NOT: site
