; As targets.ll, where the real-time counter is a message. The module says which processor it is for.
; RUN: %opt '-passes=fade<accesses;blocks;kernel;counts>' %s -o %t.bc
; RUN: %llc -verify-machineinstrs %t.bc -o - | FileCheck %s
; RUN: %llc %verify-relative -mattr=+wavefrontsize64 %t.bc -o - | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f, i64 %n) #0 {
  %v = load i32, ptr addrspace(1) %g
  store i32 %v, ptr %f
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %f, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
attributes #0 = { "target-cpu"="gfx1100" }

; CHECK: s_sendmsg_rtn_b64 s{{.*}}, sendmsg(MSG_RTN_GET_REALTIME)
; CHECK-NOT: ScratchSize: {{[1-9]}}
; CHECK: .amdhsa_kernel __fade_k
; CHECK: .amdhsa_private_segment_fixed_size 0
; CHECK-NOT: ScratchSize: {{[1-9]}}
