; A record in host memory waits for its stores and writes back no L2: tests/passes/run/caches_test.cpp counts that where the
; software GPU has the processor. gfx12 has the same code as gfx942 with another way to wait.
; REQUIRES: llvm-ge-19
; RUN: sed s/PROCESSOR/gfx942/ %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel>' %t.ll -S -o %t.gfx942
; RUN: FileCheck %s --check-prefix=GFX942 < %t.gfx942
; RUN: sed s/PROCESSOR/gfx1200/ %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel>' %t.ll -S -o %t.gfx1200
; RUN: FileCheck %s --check-prefix=GFX1200 < %t.gfx1200
; RUN: sed 's/"target-cpu"="[^"]*"//; s/s_wait[a-z_]* [a-z0-9()]*/s_wait/; s/ModuleID.*//; s/source_filename.*//; /getreg/d' %t.gfx942 > %t.one
; RUN: grep -cE 'fence|s_wait|store atomic' %t.one > %t.one.count
; RUN: sed 's/s_wait[a-z_]* [a-z0-9()]*/s_wait/' %t.gfx1200 > %t.other
; RUN: grep -cE 'fence|s_wait|store atomic' %t.other > %t.other.count
; RUN: diff %t.one.count %t.other.count
; RUN: %llc -verify-machineinstrs %t.gfx1200 -o - | FileCheck %s --check-prefix=CODE

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g) #0 {
  store i32 1, ptr addrspace(1) %g
  ret void
}
attributes #0 = { "target-cpu"="PROCESSOR" }

; Stores of the record at system scope, then the wait, then the header.
; GFX942-LABEL: define internal void @__fade_rt_access(
; GFX942: store atomic volatile i64 {{.*}} monotonic
; GFX942: call void asm sideeffect "s_waitcnt vmcnt(0)", "~{memory}"()
; GFX942: store atomic volatile i64 {{.*}} monotonic
; GFX1200-LABEL: define internal void @__fade_rt_access(
; GFX1200: store atomic volatile i64 {{.*}} monotonic
; GFX1200: call void asm sideeffect "s_wait_storecnt 0x0", "~{memory}"()
; GFX1200: store atomic volatile i64 {{.*}} monotonic
; CODE: s_wait_storecnt 0x0
; CODE: global_store_b64 {{.*}} scope:SCOPE_SYS

; Processors whose L2 never keeps host memory need no more than plain stores and a fence of the agent, which waits; without a
; processor, the fence is that of the system, which is right for all.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel>' %t.ll -S | FileCheck %s --check-prefix=PLAIN
; PLAIN-LABEL: define internal void @__fade_rt_access(
; PLAIN: store <4 x i32>
; PLAIN: fence syncscope("agent") release
; PLAIN: store atomic
; RUN: sed 's/"target-cpu"="PROCESSOR"/"any"="thing"/' %s > %t.ll && %opt '-passes=fade<accesses;blocks;kernel>' %t.ll -S | FileCheck %s --check-prefix=NOCPU
; NOCPU-NOT: syncscope("agent") release
; NOCPU: fence release
; NOCPU-NOT: syncscope("agent") release
