; nvptx64: NVIDIA's assembler takes what comes out in each mode.
; REQUIRES: ptxas
; RUN: %opt '-passes=fade<accesses;spaces=global+flat+lds+constant>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s
; RUN: %opt '-passes=fade<blocks>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s
; RUN: %opt '-passes=fade<kernel>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s
; RUN: %opt '-passes=fade<accesses;blocks;counts;kernel;inline=99>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s
; RUN: %opt '-passes=fade<accesses;mode=replace>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=REPLACE
; RUN: %opt '-passes=fade<kernels=^k$>,fade' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptxas -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@k.tile = internal addrspace(3) global [64 x i32] undef, align 4
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
%struct = type { [8 x i32] }

define internal void @a.function(ptr %f, i32 %i) noinline #0 {
  %p = getelementptr i32, ptr %f, i32 %i
  store i32 %i, ptr %p
  ret void
}
define ptx_kernel void @k(ptr addrspace(1) %g, ptr %f, ptr byval(%struct) %s, i32 %i) #0 {
  %stack = alloca [8 x i32]
  %t = getelementptr [64 x i32], ptr addrspace(3) @k.tile, i32 0, i32 %i
  store i32 1, ptr addrspace(3) %t
  %e = getelementptr %struct, ptr %s, i32 0, i32 0, i32 %i
  %v = load i32, ptr %e
  store i32 %v, ptr addrspace(1) %g
  %c = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %i
  %w = load i32, ptr addrspace(4) %c
  call void @a.function(ptr %f, i32 %w)
  call void @a.function(ptr %stack, i32 %w)
  %odd = trunc i32 %i to i1
  br i1 %odd, label %yes, label %no
yes:
  %x = atomicrmw add ptr addrspace(1) %g, i32 1 monotonic
  call void @llvm.memset.p1.i64(ptr addrspace(1) %g, i8 0, i64 100000, i1 false)
  ret void
no:
  %n = zext i32 %i to i64
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %f, i64 %n, i1 false)
  ret void
}
define ptx_kernel void @other(ptr addrspace(1) %g) #0 {
  store i32 1, ptr addrspace(1) %g
  ret void
}
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
attributes #0 = { "target-cpu"="sm_80" "target-features"="+ptx70" }

; CHECK-DAG: Compiling entry function 'k'
; CHECK-DAG: Compiling entry function '__fade_k'
; CHECK-DAG: Compiling entry function 'other'
; CHECK-DAG: Compiling entry function '__fade_other'
; REPLACE-NOT: Compiling entry function '__fade_
; REPLACE-DAG: Compiling entry function 'k'
; REPLACE-DAG: Compiling entry function 'other'
