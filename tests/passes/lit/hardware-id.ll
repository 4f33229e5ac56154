; The hardware id comes from the register that the generation has.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc - -o - | FileCheck %s --check-prefix=GFX9
; RUN: sed s/PROCESSOR/gfx1030/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc - -o - | FileCheck %s --check-prefix=GFX10
; RUN: sed s/target-cpu/some-other/ %s > %t.ll && %opt -passes=fade %t.ll -S | %llc -mcpu=gfx90a - -o - | FileCheck %s --check-prefix=UNKNOWN

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() #0 {
  ret void
}
attributes #0 = { "target-cpu"="PROCESSOR" }
; GFX9: s_getreg_b32 s{{[0-9]+}}, hwreg(HW_REG_HW_ID)
; GFX10: s_getreg_b32 s{{[0-9]+}}, hwreg(HW_REG_HW_ID1)
; UNKNOWN-NOT: HW_REG_HW_ID
