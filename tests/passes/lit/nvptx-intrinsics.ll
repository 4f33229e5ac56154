; nvptx64: intrinsics that touch memory are recorded or named as left out.
; RUN: %opt -passes=fade %s -o %t.bc 2>%t.err && %llc-nvptx %t.bc -o %t.ptx && %ptx-sites %t.ptx %t.sites && %dump-sites %t.sites | FileCheck %s
; RUN: FileCheck %s --check-prefix=LEFT --input-file=%t.err
; RUN: %opt -passes=fade %s -S 2>/dev/null | FileCheck %s --check-prefix=IR

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %l, ptr %f, i32 %n) {
  %a1 = call i32 @llvm.nvvm.atomic.load.inc.32.p1(ptr addrspace(1) %g, i32 %n)
  %a2 = call i64 @llvm.nvvm.atomic.add.gen.i.sys.i64.p0(ptr %f, i64 1)
  %a3 = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %f, i32 1, i32 2)
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %l, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %l, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %l, i32 %n)
  %m = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %l)
  %w = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %l)
  call void asm sideeffect "st.global.u32 [$0], $1;", "l,r"(ptr addrspace(1) %g, i32 %n)
  call void asm sideeffect "{ .reg .u32 t; mov.u32 t, %clock; }", ""()
  %s = call i1 @llvm.nvvm.isspacep.shared(ptr %f)
  call void @llvm.nvvm.barrier0()
  call void @llvm.nvvm.membar.gl()
  ret void
}
declare i32 @llvm.nvvm.atomic.load.inc.32.p1(ptr addrspace(1), i32)
declare i64 @llvm.nvvm.atomic.add.gen.i.sys.i64.p0(ptr, i64)
declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3))
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.membar.gl()

; CHECK: site 0 atomic global 4 reads,writes,atomic
; CHECK-NEXT: site 1 atomic flat 8 reads,writes,atomic
; CHECK-NEXT: site 2 atomic flat 4 reads,writes,atomic
; CHECK-NEXT: site 3 copy-read global 8 reads
; CHECK-NEXT: site 4 copy-write lds 8 writes
; CHECK-NEXT: site 5 copy-read global 16 reads
; CHECK-NEXT: site 6 copy-write lds 16 writes
; CHECK-NOT: site

; LEFT: fade: not instrumented: intrinsic llvm.nvvm.ldmatrix.* (1, first in __fade_k)
; LEFT-NEXT: fade: not instrumented: intrinsic llvm.nvvm.mbarrier.* (2, first in __fade_k)
; LEFT-NEXT: fade: not instrumented: memory instructions in inline assembly (1, first in __fade_k)
; LEFT-NOT: fade:

; Every lane of a copy has a destination of its own.
; IR: define ptx_kernel void @__fade_k(
; IR: [[L:%.*]] = ptrtoint ptr addrspace(3) %l to i32
; IR-NEXT: [[Z:%.*]] = zext i32 [[L]] to i64
; IR-NEXT: call void @__fade_rt_access({{.*}} i64 [[Z]], i32 4,
; IR-NEXT: call void @llvm.nvvm.cp.async.ca.shared.global.8(
