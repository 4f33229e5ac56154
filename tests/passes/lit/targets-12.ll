; As targets.ll, for targets that only newer LLVMs know.
; REQUIRES: llvm-ge-19
; RUN: sed s/PROCESSOR/gfx942/ %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel;counts>' %t.ll -o %t.bc
; RUN: %llc -verify-machineinstrs %t.bc -o - | FileCheck %s --check-prefixes=CHECK,XCC
; RUN: sed s/PROCESSOR/gfx1200/ %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel;counts>' %t.ll -o %t.bc
; RUN: %llc -verify-machineinstrs %t.bc -o - | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f, i64 %n) #0 {
  %v = load i32, ptr addrspace(1) %g
  store i32 %v, ptr %f
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %f, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
attributes #0 = { "target-cpu"="PROCESSOR" }

; XCC: s_getreg_b32 s{{[0-9]+}}, hwreg(HW_REG_XCC_ID)
; CHECK-NOT: ScratchSize: {{[1-9]}}
; CHECK: .amdhsa_kernel __fade_k
; CHECK: .amdhsa_private_segment_fixed_size 0
; CHECK-NOT: ScratchSize: {{[1-9]}}
