; Counts alone: where lanes stay together in a loop, each time is counted, and how many there are once, before the loop.
; REQUIRES: llvm-ge-17
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %s -o %t.bc && %llc -verify-machineinstrs -filetype=obj %t.bc -o %t.o

target triple = "amdgcn-amd-amdhsa"

; Some lanes come to the loop, and leave it together; what some of them do in it is counted as ever.
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %many) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 50
  br i1 %few, label %loop, label %out
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %bit = and i32 %id, %i
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %then, label %middle
then:
  store volatile i32 %i, ptr addrspace(1) %p
  br label %middle
middle:
  br label %inner
inner:
  %j = phi i64 [ 0, %middle ], [ %after, %inner ]
  %after = add i64 %j, 1
  %on = icmp ne i64 %after, %many
  br i1 %on, label %inner, label %latch
latch:
  %next = add nsw i32 %i, 1
  %again = icmp ne i32 %next, %n
  br i1 %again, label %loop, label %out
out:
  ret void
}
; CHECK-LABEL: define amdgpu_kernel void @__fade_k(
; CHECK: [[BEFORE:.*]]:{{.*}}preds = %entry
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 [[LANES:s[0-9]+]], exec\0As_cselect_b32 [[ONE:s[0-9]+]], 1, 0", "={s89},~{scc}"
; CHECK-NEXT: br label %loop
; CHECK: loop:
; A counter that 32 bits are enough for: where it would wrap, the loop must have ended.
; CHECK: asm sideeffect "s_add_u32 [[OUTER:s[0-9]+]], [[OUTER]], [[ONE]]", "={s89},~{scc}"
; CHECK: then:
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 s89, exec\0As_addc_u32 [[E:s[0-9]+]], [[E]], 0\0As_add_u32 [[L:s[0-9]+]], [[L]], s89\0As_addc_u32 [[H:s[0-9]+]], [[H]], 0", "={s89},~{scc}"
; CHECK: inner:
; CHECK: asm sideeffect "s_add_u32 [[INNER:s[0-9]+]], [[INNER]], [[ONE]]\0As_addc_u32 [[HIGH:s[0-9]+]], [[HIGH]], 0", "={s89},~{scc}"
; CHECK: latch:
; CHECK-NOT: asm
; CHECK: out:
; CHECK: asm sideeffect "s_bfm_b64
; CHECK-SAME: s_mul_i32 s89, [[INNER]], [[LANES]]\0Av_writelane_b32 v2, s89, [[AT:[0-9]]]\0As_mul_hi_u32 s89, [[INNER]], [[LANES]]\0As_mul_i32 vcc_lo, [[HIGH]], [[LANES]]\0As_add_u32 s89, s89, vcc_lo\0Av_writelane_b32 v3, s89, [[AT]]
; CHECK-SAME: s_mul_i32 s89, [[OUTER]], [[LANES]]

; Some lanes leave the loop earlier: nothing in it is run by all that came.
define amdgpu_kernel void @leaves(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %own = icmp eq i32 %i, %id
  br i1 %own, label %out, label %latch
latch:
  %next = add nsw i32 %i, 1
  %again = icmp ne i32 %next, %n
  br i1 %again, label %loop, label %out
out:
  ret void
}
; CHECK-LABEL: define amdgpu_kernel void @__fade_leaves(
; CHECK-NOT: s_cselect
; CHECK: loop:
; CHECK: asm sideeffect "s_bcnt1_i32_b64 s89, exec\0As_addc_u32
; CHECK: latch:
; CHECK: asm sideeffect "s_bcnt1_i32_b64 s89, exec\0As_addc_u32

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "target-cpu"="gfx90a" }
