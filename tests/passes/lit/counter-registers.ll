; Counters are in registers that the compiler is told not to have (amdgpu-num-sgpr). In machine code nothing but FADE's assembly writes them,
; also of kernels that want more registers than there are, with calls, and without optimization.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S -o %t.9.ll
; RUN: %llc %t.9.ll -o %t.9.s && %counter-registers %t.9.ll %t.9.s | FileCheck %s
; RUN: %llc -O0 %t.9.ll -o %t.0.s && %counter-registers %t.9.ll %t.0.s | FileCheck %s
; RUN: %opt '-passes=fade<times>' %t.ll -S -o %t.t.ll && %llc %t.t.ll -o %t.t.s && %counter-registers %t.t.ll %t.t.s | FileCheck %s
; RUN: sed 's/PROCESSOR/gfx1030" "target-features"="+wavefrontsize32/' %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S -o %t.10.ll
; RUN: %llc %t.10.ll -o %t.10.s && %counter-registers %t.10.ll %t.10.s | FileCheck %s
; RUN: %if llvm-ge-19 %{ sed 's/PROCESSOR/gfx1201" "target-features"="+wavefrontsize32/' %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S -o %t.12.ll %}
; RUN: %if llvm-ge-19 %{ %llc %t.12.ll -o %t.12.s && %counter-registers %t.12.ll %t.12.s | FileCheck %s %}
; Where LDS or the size of workgroups leaves room for few waves, LLVM 21 and later ignore what a kernel of gfx9 is not to have, so it does not count there.
; RUN: sed 's/^;lds//; s/^attributes #0 = {/& "amdgpu-flat-work-group-size"="1,256"/; s/PROCESSOR/gfx90a/' %s > %t.ll
; RUN: %opt '-passes=fade<counts>' %t.ll -S -o %t.l.ll && %llc %t.l.ll -o %t.l.s && %counter-registers %t.l.ll %t.l.s | FileCheck %s --check-prefix=LDS
; RUN: %opt '-passes=fade<times>' %t.ll -S -o %t.l.ll && %llc %t.l.ll -o %t.l.s && %counter-registers %t.l.ll %t.l.s | FileCheck %s --check-prefix=LDS
; LDS: {{[12]}} kernels: counters are written by their own assembly alone
; CHECK: 2 kernels: counters are written by their own assembly alone

; The check finds a compiler that was not told.
; RUN: sed 's/"amdgpu-num-sgpr"="[0-9]*"//' %t.9.ll > %t.untold.ll && %llc %t.untold.ll -o %t.untold.s
; RUN: not %counter-registers %t.9.ll %t.untold.s | FileCheck %s --check-prefix=UNTOLD
; UNTOLD: __fade_pressed: counters are in s{{[0-9]+}} and above, and the compiler writes s
; And a function that does not save what it uses.
; RUN: sed '/^__fade_other/,/^.Lfunc_end/ s/^\t\(s_waitcnt vmcnt(0)\|s_setpc_b64\)/\ts_mov_b32 s95, s4\n&/' %t.9.s > %t.unsaved.s
; RUN: not %counter-registers %t.9.ll %t.unsaved.s | FileCheck %s --check-prefix=UNSAVED
; UNSAVED: counters are in s{{[0-9]+}} and above, and it does not save them: s_mov_b32 s95, s4

target triple = "amdgcn-amd-amdhsa"

;lds@lds = internal addrspace(3) global [4096 x i32] undef
define amdgpu_kernel void @pressed(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %n) #0 {
entry:
  %a0 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 0
  %v0 = load <16 x i32>, ptr addrspace(4) %a0
  %a1 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 1
  %v1 = load <16 x i32>, ptr addrspace(4) %a1
  %a2 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 2
  %v2 = load <16 x i32>, ptr addrspace(4) %a2
  %a3 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 3
  %v3 = load <16 x i32>, ptr addrspace(4) %a3
  %a4 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 4
  %v4 = load <16 x i32>, ptr addrspace(4) %a4
  %a5 = getelementptr <16 x i32>, ptr addrspace(4) %q, i64 5
  %v5 = load <16 x i32>, ptr addrspace(4) %a5
  %id = call i32 @llvm.amdgcn.workitem.id.x()
;lds  %place = getelementptr i32, ptr addrspace(3) @lds, i32 %id
;lds  store volatile i32 %id, ptr addrspace(3) %place
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %one = insertelement <16 x i32> undef, i32 %i, i32 0
  %all = shufflevector <16 x i32> %one, <16 x i32> undef, <16 x i32> zeroinitializer
  %x0 = xor <16 x i32> %v0, %all
  store volatile <16 x i32> %x0, ptr addrspace(1) %p
  %x1 = xor <16 x i32> %v1, %all
  store volatile <16 x i32> %x1, ptr addrspace(1) %p
  %x2 = xor <16 x i32> %v2, %all
  store volatile <16 x i32> %x2, ptr addrspace(1) %p
  %x3 = xor <16 x i32> %v3, %all
  store volatile <16 x i32> %x3, ptr addrspace(1) %p
  %x4 = xor <16 x i32> %v4, %all
  store volatile <16 x i32> %x4, ptr addrspace(1) %p
  %x5 = xor <16 x i32> %v5, %all
  store volatile <16 x i32> %x5, ptr addrspace(1) %p
  %few = icmp ult i32 %id, %i
  br i1 %few, label %some, label %again
some:
  store volatile i32 %i, ptr addrspace(1) %p
  br label %again
again:
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}

define internal void @other(ptr addrspace(1) %p, i32 %value) #1 {
  store volatile i32 %value, ptr addrspace(1) %p
  ret void
}

define amdgpu_kernel void @calls(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %few = icmp ult i32 %id, %i
  br i1 %few, label %some, label %again
some:
  call void @other(ptr addrspace(1) %p, i32 %i)
  br label %again
again:
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { nounwind "target-cpu"="PROCESSOR" }
attributes #1 = { nounwind noinline "target-cpu"="PROCESSOR" }
