; The same intrinsics with a descriptor in address space 8, and loads that go straight to LDS.
; REQUIRES: llvm-ge-17
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=IR

target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8"
define amdgpu_kernel void @k(ptr addrspace(8) %rsrc, i32 %voffset, ptr addrspace(3) %l, ptr addrspace(1) %g) {
  %a = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %rsrc, i32 %voffset, i32 0, i32 0)
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc, ptr addrspace(3) %l, i32 4, i32 %voffset, i32 0, i32 16, i32 0)
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 4, i32 8, i32 0)
  ret void
}
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)

; CHECK: site 0 load global 4 reads,buffer
; CHECK-NEXT: site 1 copy-read global 4 reads,buffer
; CHECK-NEXT: site 2 copy-write lds 4 writes
; CHECK-NEXT: site 3 copy-read global 4 reads
; CHECK-NEXT: site 4 copy-write lds 4 writes
; CHECK-NOT: site

; Each lane writes its own word behind the address in LDS.
; IR: define amdgpu_kernel void @__fade_k
; IR: ptrtoint ptr addrspace(8) %rsrc to i128
; IR: [[LANE:%.*]] = call i32 @llvm.amdgcn.mbcnt.hi
; IR: [[WIDE:%.*]] = zext i32 [[LANE]] to i64
; IR: mul i64 [[WIDE]], 4
