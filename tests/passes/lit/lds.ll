; LDS of the originals is placed as without instrumentation, and that of the twins the same way.
; RUN: %bare_opt -passes=verify %s -S -o %t.plain.ll && %llc -mcpu=gfx90a %t.plain.ll -o %t.plain.s
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a %t.bc -o %t.fade.s
; RUN: sed -n '/^k:/,/Lfunc_end/p' %t.plain.s > %t.plain.k && sed -n '/^k:/,/Lfunc_end/p' %t.fade.s > %t.fade.k
; RUN: cmp %t.plain.k %t.fade.k
; RUN: FileCheck %s --check-prefix=SIZE < %t.fade.s

target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] undef
@table = internal addrspace(3) global [64 x i32] undef
@dynamic = external addrspace(3) global [0 x i32]


define void @f(i32 %i) noinline {
  %q = getelementptr [64 x i32], ptr addrspace(3) @table, i32 0, i32 %i
  store i32 2, ptr addrspace(3) %q
  ret void
}
define amdgpu_kernel void @k(i32 %i) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %p
  %d = getelementptr [0 x i32], ptr addrspace(3) @dynamic, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %d
  call void @f(i32 %i)
  ret void
}

; Both need 512 bytes.
; SIZE: .amdhsa_kernel k
; SIZE: .amdhsa_group_segment_fixed_size 512
; SIZE: .amdhsa_kernel __fade_k
; SIZE: .amdhsa_group_segment_fixed_size 512
