; kernels= matches the symbol or the demangled name.
; RUN: %opt '-passes=fade<kernels=^_Z3one>' %s -S | FileCheck %s --check-prefixes=ONE
; RUN: %opt '-passes=fade<kernels=two.int>' %s -S | FileCheck %s --check-prefixes=TWO
; RUN: env 'FADE_INSTRUMENT=kernels=^(one|two)\(int\)$' %opt -passes=fade %s -S | FileCheck %s --check-prefixes=BOTH

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @_Z3onei(i32 %x) {
  ret void
}
define amdgpu_kernel void @_Z3twoi(i32 %x) {
  ret void
}
; ONE: @__fade__Z3onei
; ONE-NOT: @__fade__Z3twoi
; TWO-NOT: @__fade__Z3onei
; TWO: @__fade__Z3twoi
; BOTH: define amdgpu_kernel void @__fade__Z3onei
; BOTH: define amdgpu_kernel void @__fade__Z3twoi
