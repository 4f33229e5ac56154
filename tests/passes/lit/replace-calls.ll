; mode=replace: what only replaced kernels called goes with them, and what others call stays. The crash of code
; generation that functions without a caller led to was one without optimisation.
; RUN: %opt '-passes=fade<mode=replace>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<mode=replace>' %s -o %t.bc
; RUN: %llc -O0 -mcpu=gfx90a -filetype=obj %t.bc -o %t.o

target triple = "amdgcn-amd-amdhsa"
@table = internal addrspace(1) global ptr @by_pointer

; CHECK-NOT: define internal void @alone(
; CHECK-NOT: define internal void @one(
; CHECK-NOT: define internal void @other(
; CHECK: define internal void @shared(
; CHECK: define internal void @by_pointer(
; CHECK: define void @visible(
; CHECK-NOT: define internal void @alone(
; CHECK-NOT: define internal void @one(
; CHECK-NOT: define internal void @other(
define internal void @alone(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define internal void @one(ptr addrspace(1) %p) {
  call void @other(ptr addrspace(1) %p)
  ret void
}
define internal void @other(ptr addrspace(1) %p) {
  call void @one(ptr addrspace(1) %p)
  ret void
}
define internal void @shared(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define internal void @by_pointer(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @visible(ptr addrspace(1) %p) {
  call void @shared(ptr addrspace(1) %p)
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void @alone(ptr addrspace(1) %p)
  call void @one(ptr addrspace(1) %p)
  call void @shared(ptr addrspace(1) %p)
  call void @by_pointer(ptr addrspace(1) %p)
  call void @visible(ptr addrspace(1) %p)
  ret void
}
