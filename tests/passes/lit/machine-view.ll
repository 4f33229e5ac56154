; In the pipeline of a compiler, accesses are those of the machine code: the clone goes through what
; the code generator will do to the original, before it is instrumented. The accesses of the source
; that are part of others stay in the table.
; REQUIRES: llvm-ge-19
; RUN: env FADE_INSTRUMENT=accesses %opt -mcpu=gfx90a '-passes=default<O2>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: env 'FADE_INSTRUMENT=accesses;unmerged' %opt -mcpu=gfx90a '-passes=default<O2>' %s -o %t2.bc && %llc -mcpu=gfx90a -filetype=obj %t2.bc -o %t2.o
; RUN: %objcopy --dump-section .fade.sites=%t2.sites %t2.o && %dump-sites %t2.sites | FileCheck %s --check-prefix=WRITTEN
; At -O1 nothing is merged before instruction selection, and what has the same base is merged behind it.
; RUN: env FADE_INSTRUMENT=accesses %opt -mcpu=gfx90a '-passes=default<O1>' %s -o %t1.bc && %llc -O1 -mcpu=gfx90a -filetype=obj %t1.bc -o %t1.o
; RUN: %objcopy --dump-section .fade.sites=%t1.sites %t1.o && %dump-sites %t1.sites | FileCheck %s --check-prefix=LATE
; RUN: env FADE_INSTRUMENT=off %opt -mcpu=gfx90a '-passes=default<O1>' %s -o %t3.bc && %llc -O1 -mcpu=gfx90a %t3.bc -o - | FileCheck %s --check-prefix=CODE

target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; CHECK: modes=65 options=accesses
; WRITTEN: modes=1 options=accesses;unmerged

; A struct of four floats is one access of 16 bytes, whatever was merged before.
; CHECK: site 0 load global 16 reads at
; CHECK-NEXT: site 1 store global 4 writes at
; CHECK-NEXT: site 2 load global {{[48]}} reads,gone {{.*}} done by 0
; LATE: site 0 load global 16 reads at
; LATE-NEXT: site 1 store global 4 writes at
; LATE-NEXT: site 2 load global 4 reads,gone {{.*}} done by 0
; CODE: structs:
; CODE: global_load_dwordx4
; CODE-NOT: global_load
; CODE: s_endpgm
; WRITTEN-NOT: load global 16
; WRITTEN: site 0 load global {{[48]}} reads at
define amdgpu_kernel void @structs(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %p = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i
  %p1 = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i, i64 1
  %p2 = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i, i64 2
  %p3 = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i, i64 3
  %a = load float, ptr addrspace(1) %p, align 16
  %b = load float, ptr addrspace(1) %p1, align 4
  %c = load float, ptr addrspace(1) %p2, align 8
  %d = load float, ptr addrspace(1) %p3, align 4
  %ab = fsub float %a, %b
  %abc = fmul float %ab, %c
  %s = fadd float %abc, %d
  %q = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %s, ptr addrspace(1) %q, align 4
  ret void
}

; An atomic on one address is done by one lane for all.
; CHECK: atomic global 4 reads,writes,atomic,combined at
; WRITTEN: atomic global 4 reads,writes,atomic at
define amdgpu_kernel void @sum(ptr addrspace(1) %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %old = atomicrmw add ptr addrspace(1) %out, i32 %t syncscope("agent-one-as") monotonic
  ret void
}

; A load from the same address in all lanes is the scalar unit's.
; CHECK-NEXT: load global 4 reads,scalar at
; WRITTEN-NEXT: load global 4 reads at
define amdgpu_kernel void @uniform(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %a = load float, ptr addrspace(1) %in, align 4
  %q = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %a, ptr addrspace(1) %q, align 4
  ret void
}

; A store between them, which may go to the same place, keeps loads apart.
; LATE: load global 4 reads at
; LATE-NEXT: store global 4 writes at
; LATE-NEXT: load global 4 reads at
; LATE-NOT: done by
define amdgpu_kernel void @between(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %p = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i
  %p1 = getelementptr [4 x float], ptr addrspace(1) %in, i64 %i, i64 1
  %q = getelementptr float, ptr addrspace(1) %out, i64 %i
  %a = load float, ptr addrspace(1) %p, align 16
  store float %a, ptr addrspace(1) %q, align 4
  %b = load float, ptr addrspace(1) %p1, align 4
  %ab = fsub float %a, %b
  %q1 = getelementptr float, ptr addrspace(1) %q, i64 64
  store float %ab, ptr addrspace(1) %q1, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()

; Two floats of LDS that are not known to begin at a multiple of 8 are read with two addresses, two
; doubles likewise. At a constant place the alignment of the variable is known, which is that of its
; size.
; CHECK: load lds 8 reads,by 4 at
; CHECK: load lds 16 reads,by 8 at
; CHECK: load lds 16 reads at
; CODE-LABEL: pairs:
; CODE-DAG: ds_read2_b32
; CODE-DAG: ds_read2_b64
@floats = addrspace(3) global [64 x float] poison, align 4
@doubles = addrspace(3) global [64 x double] poison, align 8
define amdgpu_kernel void @pairs(ptr addrspace(1) noalias %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %p = getelementptr float, ptr addrspace(3) @floats, i32 %t
  %p1 = getelementptr i8, ptr addrspace(3) %p, i32 4
  %a = load float, ptr addrspace(3) %p, align 4
  %b = load float, ptr addrspace(3) %p1, align 4
  %d = getelementptr double, ptr addrspace(3) @doubles, i32 %t
  %d1 = getelementptr i8, ptr addrspace(3) %d, i32 8
  %e = load double, ptr addrspace(3) %d, align 8
  %f = load double, ptr addrspace(3) %d1, align 8
  %c0 = load double, ptr addrspace(3) @doubles, align 8
  %c1 = load double, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @doubles, i32 8), align 8
  %ab = fadd float %a, %b
  %ef = fadd double %e, %f
  %c = fadd double %c0, %c1
  %efc = fmul double %ef, %c
  %g = fptrunc double %efc to float
  %s = fadd float %ab, %g
  %q = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %s, ptr addrspace(1) %q, align 4
  ret void
}

; An atomic that the GPU does not have is a load and a loop of compare and swap.
; CHECK: load global 4 reads,loop at
; CHECK-NEXT: atomic global 4 reads,writes,atomic,loop at
; WRITTEN-NOT: loop
define amdgpu_kernel void @most(ptr addrspace(1) %out, float %v) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %q = getelementptr float, ptr addrspace(1) %out, i64 %i
  %old = atomicrmw fmax ptr addrspace(1) %q, float %v syncscope("agent") monotonic
  ret void
}
