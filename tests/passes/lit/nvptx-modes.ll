; nvptx64: the modes, each on its own and all together.
; RUN: %opt '-passes=fade<accesses>' %s -S | FileCheck %s --check-prefixes=CHECK,ACCESSES
; RUN: %opt '-passes=fade<blocks>' %s -S | FileCheck %s --check-prefixes=CHECK,BLOCKS
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s --check-prefix=COUNTS
; RUN: %opt '-passes=fade<kernel>' %s -S | FileCheck %s --check-prefixes=CHECK,KERNEL
; RUN: %opt '-passes=fade<kernel>' %s -S | FileCheck %s --check-prefix=LANES
; RUN: %opt '-passes=fade<accesses;blocks;kernel;counts>' %s -S | FileCheck %s --check-prefixes=CHECK,ALL
; RUN: %opt '-passes=fade<accesses;inline=9>' %s -S | FileCheck %s --check-prefixes=CHECK,INLINE
; RUN: %opt '-passes=fade<accesses;mode=replace>' %s -S | FileCheck %s --check-prefix=REPLACE

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c) {
entry:
  br i1 %c, label %yes, label %no
yes:
  store i32 1, ptr addrspace(1) %p
  ret void
no:
  ret void
}

; CHECK: define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c) {
; CHECK: define ptx_kernel void @__fade_k(
; CHECK: call i32 @__fade_rt_wave_begin(

; ACCESSES-NOT: call {{.*}}@__fade_rt_{{(block|count|wave_end)}}
; ACCESSES: call void @__fade_rt_access(
; ACCESSES-NOT: call {{.*}}@__fade_rt_{{(block|count|wave_end)}}

; BLOCKS: call void @__fade_rt_block({{.*}}, i32 0)
; BLOCKS: yes:
; BLOCKS-NEXT: call void @__fade_rt_block({{.*}}, i32 1)
; BLOCKS: no:
; BLOCKS-NEXT: call void @__fade_rt_block({{.*}}, i32 2)
; BLOCKS-NOT: call void @__fade_rt_{{(access|count|wave_end)}}

; Counts alone need no stream. The processor is not known here, so each block adds to its counter
; itself. A counter has 16 bytes.
; COUNTS: define ptx_kernel void @__fade_k(
; COUNTS-NOT: call {{.*}}@__fade_rt_{{(wave_begin|counters)}}
; COUNTS: call i64 @__fade_rt_copy_if_wanted(ptr addrspace(1) %__fade_control,
; COUNTS-COUNT-3: activemask.b32
; COUNTS-NOT: activemask.b32
; COUNTS-NOT: call void @__fade_rt_{{(access|block|count|wave_end)}}

; All returns come together, and so do all the lanes that started: nothing else makes them.
; LANES: define ptx_kernel void @__fade_k(
; LANES-NEXT: entry:
; LANES-NEXT: %__fade_lanes = call i32 asm sideeffect "activemask.b32 $0;", "=r"() #[[ASM:[0-9]+]]
; LANES: attributes #[[ASM]] = { convergent }
; KERNEL: __fade_exit:
; KERNEL-NEXT: call void @llvm.nvvm.bar.warp.sync(i32 %__fade_lanes)
; KERNEL-NEXT: call void @__fade_rt_wave_end(ptr addrspace(1) %__fade_control, i32 %__fade_wave, i32 0)
; KERNEL-NEXT: ret void
; KERNEL-NOT: call void @__fade_rt_{{(access|block|count)}}

; ALL-DAG: call void @__fade_rt_access(
; ALL-DAG: call void @__fade_rt_block(
; ALL-DAG: call void @__fade_rt_wave_end(
; ALL-DAG: call i64 @__fade_rt_counters(

; INLINE-NOT: call void @__fade_rt_access(
; INLINE: activemask.b32
; INLINE-NOT: call void @__fade_rt_access(

; REPLACE-NOT: @__fade_k(
; REPLACE: define ptx_kernel void @k(ptr addrspace(1) %p, i1 %c, ptr addrspace(1) noundef %__fade_control)
; REPLACE: call void @__fade_rt_access(
; REPLACE-NOT: @__fade_k(
