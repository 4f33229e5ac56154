; The same runtime compiles for all generations, without a byte of stack, and the machine code verifies.
; RUN: %opt '-passes=fade<accesses;blocks;kernel;counts>' %s -o %t.bc
; RUN: %llc %verify-relative -mcpu=gfx906 %t.bc -o - | FileCheck %s
; RUN: %llc %verify-relative -mcpu=gfx908 %t.bc -o - | FileCheck %s
; RUN: %llc -verify-machineinstrs -mcpu=gfx90a %t.bc -o - | FileCheck %s
; RUN: %llc -verify-machineinstrs -mcpu=gfx1030 %t.bc -o - | FileCheck %s
; RUN: %llc %verify-relative -mcpu=gfx1030 -mattr=+wavefrontsize64 %t.bc -o - | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f, i64 %n) {
  %v = load i32, ptr addrspace(1) %g
  store i32 %v, ptr %f
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %f, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)

; CHECK-NOT: ScratchSize: {{[1-9]}}
; CHECK: .amdhsa_kernel __fade_k
; CHECK: .amdhsa_private_segment_fixed_size 0
; CHECK-NOT: ScratchSize: {{[1-9]}}

; Without a processor in the module, the runtime has none either: -mcpu of llc decides.
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=NOCPU
; NOCPU-NOT: "target-cpu"
