; The hardware id comes from the register that the generation has.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc - -o - | FileCheck %s --check-prefix=GFX9
; RUN: sed s/PROCESSOR/gfx1030/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc - -o - | FileCheck %s --check-prefix=GFX10
; RUN: sed s/target-cpu/some-other/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc -mcpu=gfx90a - -o - | FileCheck %s --check-prefix=UNKNOWN

; Where counts are added up: with several dies, no two of them share a copy.
; RUN: sed s/PROCESSOR/gfx942/ %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S | FileCheck %s --check-prefix=DIES
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S | FileCheck %s --check-prefix=ONE

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() #0 {
  ret void
}
define amdgpu_kernel void @counted(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}
; DIES-LABEL: define amdgpu_kernel void @__fade_counted(
; DIES: [[PLACE:%[0-9a-z.]+]] = call i32 @llvm.amdgcn.s.getreg(i32 14852)
; DIES-NEXT: [[UPPER:%[0-9a-z.]+]] = shl i32 [[PLACE]], 3
; DIES-NEXT: [[DIE:%[0-9a-z.]+]] = call i32 @llvm.amdgcn.s.getreg(i32 4116)
; DIES-NEXT: or i32 [[UPPER]], [[DIE]]
; ONE-LABEL: define amdgpu_kernel void @__fade_counted(
; ONE: call i32 @llvm.amdgcn.s.getreg(i32 14852)
; ONE-NOT: s.getreg(i32 4116)
attributes #0 = { "target-cpu"="PROCESSOR" }
; GFX9: s_getreg_b32 s{{[0-9]+}}, hwreg(HW_REG_HW_ID)
; GFX10: s_getreg_b32 s{{[0-9]+}}, hwreg(HW_REG_HW_ID1)
; UNKNOWN-NOT: HW_REG_HW_ID
