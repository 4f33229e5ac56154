; The call graph is cloned with the control block and the wave as further arguments. What cannot be followed is said.
; RUN: %opt -passes=fade %s -S 2>%t.err | FileCheck %s
; RUN: FileCheck %s --check-prefix=SAID < %t.err
; RUN: %opt -passes=fade %s -o %t.bc 2>/dev/null && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES

target triple = "amdgcn-amd-amdhsa"
declare void @elsewhere()
declare float @__ocml_sin_f32(float)

define internal i32 @leaf(ptr addrspace(1) %p) noinline {
  %v = load i32, ptr addrspace(1) %p
  ret i32 %v
}

define i32 @recursive(ptr addrspace(1) %p, i32 %n) noinline {
  %stop = icmp eq i32 %n, 0
  br i1 %stop, label %end, label %more
more:
  %m = sub i32 %n, 1
  %r = call i32 @recursive(ptr addrspace(1) %p, i32 %m)
  %l = call i32 @leaf(ptr addrspace(1) %p)
  ret i32 %l
end:
  ret i32 0
}

define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %r = call i32 @recursive(ptr addrspace(1) %p, i32 3)
  %l = call i32 @leaf(ptr addrspace(1) %p)
  call void @elsewhere()
  %s = call float @__ocml_sin_f32(float 1.0)
  ret void
}
define amdgpu_kernel void @k2(ptr addrspace(1) %p) {
  %l = call i32 @leaf(ptr addrspace(1) %p)
  call void @elsewhere()
  ret void
}

; The originals still call the originals.
; CHECK: define amdgpu_kernel void @k(ptr addrspace(1) %p)
; CHECK: call i32 @recursive(ptr addrspace(1) %p, i32 3)

; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK: call i32 @__fade_recursive(ptr addrspace(1) %p, i32 3, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: call i32 @__fade_leaf(ptr addrspace(1) %p, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: call void @elsewhere()
; CHECK: call float @__ocml_sin_f32(float 1.000000e+00)
; CHECK: define internal i32 @__fade_recursive(ptr addrspace(1) %p, i32 %n, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: call i32 @__fade_recursive(
; CHECK: call i32 @__fade_leaf(
; CHECK: define internal i32 @__fade_leaf(
; CHECK: call void @__fade_rt_access(
; One clone serves both kernels.
; CHECK: define amdgpu_kernel void @__fade_k2(
; CHECK: call i32 @__fade_leaf(
; CHECK-NOT: define internal i32 @__fade_leaf

; SAID: fade: not instrumented: calls of functions that are not in this module (like elsewhere) (2, first in __fade_k)
; SAID-NOT: fade:

; Code that kernels share belongs to none of them.
; SITES: site 0 load global 4 reads at :0:0 in leaf kernel=- block=-
; SITES-NOT: site
