; A device module without kernels is not touched either, nor one that the options exclude.
; RUN: %bare_opt -passes=verify %s -S -o %t.plain && %opt -passes=fade %s -S -o %t.fade && cmp %t.plain %t.fade
; RUN: echo 'define amdgpu_kernel void @k() { ret void }' > %t.k && cat %s %t.k > %t.ll
; RUN: %bare_opt -passes=verify %t.ll -S -o %t.plain
; RUN: %opt '-passes=fade<kernels=other>' %t.ll -S -o %t.fade && cmp %t.plain %t.fade
; RUN: %opt '-passes=fade<off>' %t.ll -S -o %t.fade && cmp %t.plain %t.fade
; RUN: env FADE_INSTRUMENT=off %opt -passes=fade %t.ll -S -o %t.fade && cmp %t.plain %t.fade

target triple = "amdgcn-amd-amdhsa"
define void @f(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
