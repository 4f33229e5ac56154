; Code for amdgcnspirv becomes machine code only when it runs, and is not instrumented: one line says
; so. Modules without kernels, and SPIR-V for others, are none of our business.
; REQUIRES: llvm-ge-16
; RUN: %opt -passes=fade %s -S 2>&1 | FileCheck %s
; RUN: sed s/spirv64-amd-amdhsa/spirv64-unknown-unknown/ %s | %opt -passes=fade -S 2>&1 | FileCheck %s --check-prefix=OTHER
; RUN: sed s/spir_kernel/spir_func/ %s | %opt -passes=fade -S 2>&1 | FileCheck %s --check-prefix=OTHER
; RUN: env FADE_INSTRUMENT=off %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=OTHER
; CHECK: fade: not instrumented: 2 kernels for amdgcnspirv (like k): compile for the GPU itself (--offload-arch=gfx90a)
; CHECK-NOT: @__fade_k
; OTHER-NOT: fade:
; OTHER: @k(
; OTHER-NOT: fade:
target triple = "spirv64-amd-amdhsa"

define spir_kernel void @k(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

define spir_kernel void @another(ptr addrspace(1) %p) {
  ret void
}
