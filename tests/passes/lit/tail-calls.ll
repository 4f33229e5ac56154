; Calls that must be tail calls, and calls by another name of a function. A clone has two parameters more than its
; original: the guarantee can be kept where the callee is a clone, too, and only there.
; RUN: %opt -passes=fade %s -S 2>%t.err | FileCheck %s
; RUN: FileCheck %s --check-prefix=SAID < %t.err

target triple = "amdgcn-amd-amdhsa"
@g = addrspace(1) global [4 x i32] zeroinitializer
@other = internal alias i32 (i32), ptr @plain

declare i32 @elsewhere(i32)
define internal i32 @plain(i32 %x) noinline {
  %v = load i32, ptr addrspace(1) @g
  ret i32 %v
}
define internal i32 @followed(i32 %x) noinline {
  %r = musttail call i32 @plain(i32 %x)
  ret i32 %r
}
define internal i32 @leaves(i32 %x) noinline {
  store i32 %x, ptr addrspace(1) @g
  %r = musttail call i32 @elsewhere(i32 %x)
  ret i32 %r
}
define internal i32 @pointed_to(i32 %x, ptr %f) noinline {
  %v = load i32, ptr addrspace(1) @g
  ret i32 %v
}
define internal i32 @indirect(i32 %x, ptr %f) noinline {
  %r = musttail call i32 %f(i32 %x, ptr %f)
  ret i32 %r
}
define amdgpu_kernel void @k(i32 %i) {
  %a = call i32 @followed(i32 %i)
  %b = call i32 @leaves(i32 %a)
  %c = call i32 @indirect(i32 %b, ptr @pointed_to)
  %d = call i32 @other(i32 %c)
  store i32 %d, ptr addrspace(1) @g
  ret void
}

; Originals stay as they are.
; CHECK: define internal i32 @leaves
; CHECK: musttail call i32 @elsewhere(i32 %x)

; CHECK: define amdgpu_kernel void @__fade_k
; CHECK: call i32 @__fade_plain(i32 %{{c|[0-9]+}}, ptr addrspace(1) %__fade_control
; CHECK-DAG: musttail call i32 @__fade_plain(i32 %x, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK-DAG: {{^}}  %r = tail call i32 @elsewhere(i32 %x)
; CHECK-DAG: call i32 @__fade_pointed_to(i32 %x, ptr %f, ptr addrspace(1) %__fade_control, i32 %__fade_wave)

; SAID: calls of functions that are not in this module (like elsewhere) (1, first in __fade_leaves)
