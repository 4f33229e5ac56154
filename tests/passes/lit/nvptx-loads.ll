; nvptx64: loads through the read-only and the uniform cache, before LLVM 20 made them ordinary ones, and copies that
; read less than they write.
; UNSUPPORTED: llvm-ge-20
; RUN: %opt -passes=fade %s -S | FileCheck %s

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %g, ptr %f, ptr addrspace(3) %l, i32 %n) {
  %v1 = call i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1) %g, i32 4)
  %v2 = call <2 x double> @llvm.nvvm.ldu.global.f.v2f64.p0(ptr %f, i32 16)
  ret void
}
declare i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1), i32)
declare <2 x double> @llvm.nvvm.ldu.global.f.v2f64.p0(ptr, i32)

; CHECK: define ptx_kernel void @__fade_k(
; CHECK: call void @__fade_rt_access(
; CHECK-NEXT: call i32 @llvm.nvvm.ldg.global.i.i32.p1(
; CHECK: call void @__fade_rt_access_flat(
; CHECK-NEXT: call <2 x double> @llvm.nvvm.ldu.global.f.v2f64.p0(
