; Marks of fade/user.h become calls in the twin, in every mode, and stay comments in the original; they need no stack.
; RUN: %opt '-passes=fade<blocks>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<accesses>' %s -o %t.bc
; RUN: %llc -verify-machineinstrs -mcpu=gfx90a %t.bc -o - | FileCheck %s --check-prefix=CODE
; RUN: %llc -verify-machineinstrs -mcpu=gfx1030 %t.bc -o - | FileCheck %s --check-prefix=CODE
; RUN: %llc -verify-machineinstrs -mcpu=gfx1030 -mattr=+wavefrontsize64 %t.bc -o - | FileCheck %s --check-prefix=CODE

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(i64 %n, double %d) {
  call void asm sideeffect "; fade_record_i64 $0 $1", "n,v"(i32 7, i64 %n)
  call void asm sideeffect "; fade_record_f64 $0 $1", "n,v"(i32 8, double %d)
  call void asm sideeffect "; fade_record_i64 of another kind", ""()
  ret void
}

; CHECK: define amdgpu_kernel void @k(
; CHECK: fade_record_i64 $0
; CHECK: fade_record_f64 $0
; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK-NOT: fade_record_i64 $0
; CHECK: call void @__fade_rt_user({{.*}}, i64 %n)
; CHECK: bitcast double %d to i64
; CHECK: call void @__fade_rt_user(
; CHECK: of another kind
; CODE-NOT: ScratchSize: {{[1-9]}}
; CODE: .amdhsa_kernel __fade_k
; CODE: .amdhsa_private_segment_fixed_size 0
; CODE-NOT: ScratchSize: {{[1-9]}}
