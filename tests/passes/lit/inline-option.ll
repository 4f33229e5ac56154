; inline=N: kernels with up to N accesses write records in place, others call the runtime.
; RUN: %opt '-passes=fade<inline=1>' %s -S | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @one(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @two(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  store i32 2, ptr addrspace(1) %p
  ret void
}
; CHECK: define amdgpu_kernel void @__fade_one(
; CHECK-NOT: call void @__fade_rt_access
; CHECK: define amdgpu_kernel void @__fade_two(
; CHECK-COUNT-2: call void @__fade_rt_access
