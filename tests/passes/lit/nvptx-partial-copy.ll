; nvptx64: a copy to shared memory that reads only some of the bytes and fills the rest: the length of what is read
; comes with the record.
; REQUIRES: llvm-ge-17
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt -passes=fade %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptx-sites %t.ptx %t.sites && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %l, i32 %n) {
  call void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3) %l, ptr addrspace(1) %g, i32 %n)
  ret void
}
declare void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)

; CHECK: define ptx_kernel void @__fade_k(
; CHECK: [[LENGTH:%.*]] = zext i32 %n to i64
; CHECK-NEXT: call void @__fade_rt_range(ptr addrspace(1) %__fade_control, i32 %__fade_wave, i32 0, i64 {{%.*}}, i64 [[LENGTH]])
; CHECK: call void @__fade_rt_access(
; SITES: site 0 copy-read global 0 reads,length
; SITES-NEXT: site 1 copy-write lds 16 writes
; SITES-NOT: site
