; nvptx64: counts alone. Threads count in values, and warps add them up.
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %s -o %t.bc && %llc-nvptx %t.bc -o /dev/null
; RUN: %opt '-passes=fade<times>' %s -S | FileCheck %s --check-prefix=TIMES

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

; A clock where a block ends. Where it begins it takes another one, unless it continues the one
; before at once, like %yes; %behind does not, since threads may wait for those in the loop.
; TIMES-LABEL: define ptx_kernel void @__fade_k(
; TIMES-COUNT-2: "mov.u64 $0, %clock64;"
; TIMES: {{^}}loop:
; TIMES-COUNT-2: "mov.u64 $0, %clock64;"
; TIMES: {{^}}behind:
; TIMES: "mov.u64 $0, %clock64;"
; TIMES: [[START:%[0-9]+]] = call i64 asm sideeffect "mov.u64 $0, %clock64;"
; TIMES: {{^}}yes:
; TIMES-NOT: clock64
; TIMES: store volatile
; TIMES: [[END:%[0-9]+]] = call i64 asm sideeffect "mov.u64 $0, %clock64;"
; TIMES: sub i64 [[END]], [[START]]
; TIMES: {{^}}out:
; TIMES-COUNT-2: "mov.u64 $0, %clock64;"
; TIMES-NOT: clock64
; Each thread adds its own.
; TIMES: icmp ne i64 [[CLOCKS:%[.0-9]+]], 0
; TIMES: asm sideeffect "red.relaxed.gpu.global.add.u64 [$0], $1;", "l,l,~{memory}"(i64 {{.*}}, i64 [[CLOCKS]])
attributes #0 = { "target-cpu"="sm_80" }
