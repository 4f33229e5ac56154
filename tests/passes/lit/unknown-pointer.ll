; A pointer that can mean nothing in this module is called as it is, and that is said.
; RUN: %opt -passes=fade %s -S 2>%t.err | FileCheck %s
; RUN: FileCheck %s --check-prefix=SAID < %t.err

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr %f) {
  call void %f()
  ret void
}
; CHECK: define amdgpu_kernel void @__fade_k(
; CHECK: call void %f()
; SAID: fade: not instrumented: calls through pointers to functions of other modules (1, first in __fade_k)
