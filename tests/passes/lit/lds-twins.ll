; Twins use LDS variables of their own, so that those of the originals are placed as without instrumentation.
; REQUIRES: llvm-ge-17
; RUN: %opt -passes=fade %s -S | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] undef
@table = internal addrspace(3) global [64 x i32] undef
@dynamic = external addrspace(3) global [0 x i32]

; CHECK-DAG: @tile = internal addrspace(3) global [64 x i32] undef
; CHECK-DAG: @__fade_tile = internal addrspace(3) global [64 x i32] undef
; CHECK-DAG: @__fade_table = internal addrspace(3) global [64 x i32] undef
; CHECK-DAG: @__fade_dynamic = external addrspace(3) global [0 x i32]

define void @f(i32 %i) noinline {
  %q = getelementptr [64 x i32], ptr addrspace(3) @table, i32 0, i32 %i
  store i32 2, ptr addrspace(3) %q
  ret void
}
define amdgpu_kernel void @k(i32 %i) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %p
  %d = getelementptr [0 x i32], ptr addrspace(3) @dynamic, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %d
  call void @f(i32 %i)
  ret void
}
; CHECK: define amdgpu_kernel void @k(
; CHECK: getelementptr [64 x i32], ptr addrspace(3) @tile
; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK: getelementptr [64 x i32], ptr addrspace(3) @__fade_tile
; CHECK: getelementptr [0 x i32], ptr addrspace(3) @__fade_dynamic
; CHECK: define internal void @__fade_f(
; CHECK: getelementptr [64 x i32], ptr addrspace(3) @__fade_table

