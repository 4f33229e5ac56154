; nvptx64: counts alone. Threads count in values, and warps add them up.
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %s -o %t.bc && %llc-nvptx %t.bc -o /dev/null

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p
  %next = add nuw nsw i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %behind
behind:
  %last = icmp eq i32 %n, 7
  br i1 %last, label %yes, label %out
yes:
  store volatile i32 %n, ptr addrspace(1) %p
  br label %out
out:
  ret void
}

; CHECK-LABEL: define ptx_kernel void @__fade_k(
; CHECK-NOT: call {{.*}}@__fade_rt_
; CHECK-NOT: alloca
; CHECK: %__fade_lanes = call i32 asm sideeffect "activemask.b32 $0;"
; CHECK: loop:
; CHECK: [[BEFORE:%[.0-9]+]] = phi i32 [ 0, %entry ], [ [[ENTRIES:%[0-9]+]], %loop ]
; CHECK: add i32 {{.*}}, 1
; CHECK: asm sideeffect "activemask.b32 $0;"
; CHECK: [[ENTRIES]] = add i32 [[BEFORE]],
; CHECK: call void @llvm.nvvm.bar.warp.sync(i32 %__fade_lanes)
; CHECK: redux.sync.add.u32
; CHECK: vote.sync.ballot.b32
; CHECK: red.relaxed.gpu.global.add.u64
attributes #0 = { "target-cpu"="sm_80" }
