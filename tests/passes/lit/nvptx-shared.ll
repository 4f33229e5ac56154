; nvptx64: a shared variable of one function is part of it in PTX; were its twin to use it as well, it would not be.
; Variables that others may see are not copied.
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %llc-nvptx %s -o %t.plain.ptx && %opt -passes=fade %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx
; RUN: FileCheck %s --check-prefix=PTX --input-file=%t.plain.ptx
; RUN: FileCheck %s --check-prefixes=PTX,TWIN --input-file=%t.ptx

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@k.tile = internal addrspace(3) global [64 x i32] undef, align 4
@common = addrspace(3) global [64 x i32] undef, align 4
@dynamic = external addrspace(3) global [0 x i32], align 4

; CHECK-DAG: @k.tile = internal addrspace(3) global [64 x i32] undef
; CHECK-DAG: @__fade_k.tile = internal addrspace(3) global [64 x i32] undef
; CHECK-NOT: @__fade_common
; CHECK-NOT: @__fade_dynamic

define ptx_kernel void @k(i32 %i) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @k.tile, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %p
  %c = getelementptr [64 x i32], ptr addrspace(3) @common, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %c
  %d = getelementptr [0 x i32], ptr addrspace(3) @dynamic, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %d
  ret void
}
; PTX: .visible .shared .align 4 .b8 common[256];
; PTX: .extern .shared .align 4 .b8 dynamic[]
; PTX: .visible .entry k(
; PTX: .shared .align 4 .b8 k_$_tile[256];
; PTX: mov.{{[ub]}}64 {{.*}}, k_$_tile;
; TWIN: .visible .entry __fade_k(
; TWIN: .shared .align 4 .b8 __fade_k_$_tile[256];
; TWIN: mov.{{[ub]}}64 {{.*}}, __fade_k_$_tile;
