; nvptx64: up to LLVM 20, annotations tell which functions are kernels. A twin has all those of its original; others
; stay as they are.
; UNSUPPORTED: llvm-ge-20
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt '-passes=fade<mode=replace>' %s -S | FileCheck %s --check-prefix=REPLACE
; RUN: %opt -passes=fade,fade %s -S | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

define spir_kernel void @a(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @b(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @not_a_kernel(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
@surface = internal addrspace(1) global i64 0

; CHECK: define spir_kernel void @__fade_a(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; CHECK: define void @__fade_b(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; CHECK-NOT: @__fade_not_a_kernel
; CHECK-NOT: __fade___fade

; CHECK: !nvvm.annotations = !{!
; CHECK-DAG: !{ptr @a, !"kernel", i32 1}
; CHECK-DAG: !{ptr @a, !"maxntidx", i32 256, !"maxntidy", i32 2}
; CHECK-DAG: !{ptr @b, !"reqntidx", i32 64, !"kernel", i32 1}
; CHECK-DAG: !{ptr @__fade_a, !"kernel", i32 1}
; CHECK-DAG: !{ptr @__fade_a, !"maxntidx", i32 256, !"maxntidy", i32 2}
; CHECK-DAG: !{ptr @__fade_b, !"reqntidx", i32 64, !"kernel", i32 1}
; CHECK-DAG: !{ptr addrspace(1) @surface, !"surface", i32 1}
; CHECK-DAG: !{ptr @not_a_kernel, !"maxntidx", i32 8}

; Replaced, there is one kernel with one set of annotations.
; REPLACE-NOT: @__fade_a
; REPLACE: define spir_kernel void @a(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; REPLACE: define void @b(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; REPLACE: !nvvm.annotations = !{!{{[0-9]+}}, !{{[0-9]+}}, !{{[0-9]+}}, !{{[0-9]+}}, !{{[0-9]+}}}
; REPLACE-DAG: !{ptr @a, !"kernel", i32 1}
; REPLACE-DAG: !{ptr @a, !"maxntidx", i32 256, !"maxntidy", i32 2}
; REPLACE-DAG: !{ptr @b, !"reqntidx", i32 64, !"kernel", i32 1}

!nvvm.annotations = !{!0, !1, !2, !3, !4}
!0 = !{ptr @a, !"kernel", i32 1}
!1 = !{ptr @a, !"maxntidx", i32 256, !"maxntidy", i32 2}
!2 = !{ptr @b, !"reqntidx", i32 64, !"kernel", i32 1}
!3 = !{ptr addrspace(1) @surface, !"surface", i32 1}
!4 = !{ptr @not_a_kernel, !"maxntidx", i32 8}
