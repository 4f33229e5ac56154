; Calls through pointers are compared with the functions they may mean; the call itself stays as the last resort.
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a %t.bc -o %t.s

target triple = "amdgcn-amd-amdhsa"
@table = addrspace(1) constant [2 x ptr] [ptr @one, ptr @two]

define void @one(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @two(ptr addrspace(1) %p) {
  store i32 2, ptr addrspace(1) %p
  ret void
}
define void @other_type(ptr addrspace(1) %p, i32 %x) {
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %i) {
  %slot = getelementptr [2 x ptr], ptr addrspace(1) @table, i32 0, i32 %i
  %f = load ptr, ptr addrspace(1) %slot
  call void %f(ptr addrspace(1) %p)
  ret void
}

; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK: icmp eq ptr %f, @one
; CHECK: call void @__fade_one(ptr addrspace(1) %p, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: icmp eq ptr %f, @two
; CHECK: call void @__fade_two(ptr addrspace(1) %p, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: call void %f(ptr addrspace(1) %p)
; CHECK-NOT: __fade_other_type
