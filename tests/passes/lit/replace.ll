; mode=replace: the instrumented kernel bears the name of the original, which is gone.
; RUN: %opt '-passes=fade<mode=replace>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<mode=replace>' %s -o %t.bc
; RUN: %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES

target triple = "amdgcn-amd-amdhsa"
define protected amdgpu_kernel void @k(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
; CHECK: define protected amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; CHECK: call void @__fade_rt_access
; CHECK-NOT: @__fade_k
; SITES: kernel 0 k twin=k at :0 modes=1 flags=1
