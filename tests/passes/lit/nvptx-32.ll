; Kernels of 32-bit PTX, and modules for nvptx64 without a kernel, come out as they went in.
; RUN: %bare_opt -passes=verify %s -S -o %t.plain && %opt -passes=fade %s -S -o %t.fade
; RUN: cmp %t.plain %t.fade
; RUN: sed 's/nvptx-nvidia-cuda/nvptx64-nvidia-cuda/; s/ptx_kernel/ptx_device/' %s > %t.ll
; RUN: %bare_opt -passes=verify %t.ll -S -o %t.plain && %opt -passes=fade %t.ll -S -o %t.fade
; RUN: cmp %t.plain %t.fade
; RUN: sed s/nvptx-nvidia-cuda/nvptx64-nvidia-cuda/ %s > %t.ll
; RUN: %bare_opt -passes=verify %t.ll -S -o %t.plain && %opt -passes=fade %t.ll -S -o %t.fade
; RUN: not cmp -s %t.plain %t.fade

target triple = "nvptx-nvidia-cuda"
define ptx_kernel void @f(ptr %p) {
  store i32 1, ptr %p
  ret void
}
