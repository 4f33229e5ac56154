; RUN: %opt '-passes=fade<accesses>' %s -S | FileCheck %s --check-prefixes=CHECK,ACCESSES
; RUN: %opt '-passes=fade<blocks>' %s -S | FileCheck %s --check-prefixes=CHECK,BLOCKS
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s --check-prefix=COUNTS
; RUN: %opt '-passes=fade<kernel>' %s -S | FileCheck %s --check-prefixes=CHECK,KERNEL
; RUN: %opt '-passes=fade<accesses;blocks;kernel;counts>' %s -S | FileCheck %s --check-prefixes=CHECK,ALL
; RUN: env 'FADE_INSTRUMENT=blocks' %opt '-passes=fade' %s -S | FileCheck %s --check-prefixes=CHECK,BLOCKS
; RUN: %opt '-passes=fade<accesses;blocks;kernel>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i1 %c) {
entry:
  br i1 %c, label %yes, label %no
yes:
  store i32 1, ptr addrspace(1) %p
  ret void
no:
  ret void
}

; CHECK: define amdgpu_kernel void @__fade_k(
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

; Counts alone need no stream. The processor is not known here, so each block adds to memory itself.
; COUNTS: define amdgpu_kernel void @__fade_k(
; COUNTS-NOT: call {{.*}}@__fade_rt_{{(wave_begin|counters)}}
; COUNTS: call i64 @__fade_rt_copy_if_wanted(
; COUNTS-COUNT-3: atomicrmw volatile add ptr addrspace(1)
; COUNTS-NOT: call {{.*}}@__fade_rt_{{(access|block|count|wave_begin|wave_end)}}

; All returns come together, so that a wave ends once.
; KERNEL: __fade_exit:
; KERNEL-NEXT: call void @__fade_rt_wave_end(ptr addrspace(1) %__fade_control, i32 %__fade_wave, i32 0)
; KERNEL-NEXT: ret void
; KERNEL-NOT: call void @__fade_rt_{{(access|block|count)}}

; ALL-DAG: call void @__fade_rt_access(
; ALL-DAG: call void @__fade_rt_block(
; ALL-DAG: call void @__fade_rt_wave_end(
; ALL-DAG: atomicrmw volatile add

; SITES: table source={{.*}}modes.ll target= modes=7 options=accesses;blocks;kernel
; SITES: kernel 0 k twin=__fade_k at :0 modes=7 flags=0
; SITES: site 0 block - 0 - at :0:0 in __fade_k kernel=0 block=-
; SITES: site 1 block
; SITES: site 2 block
; SITES: site 3 store global 4 writes at :0:0 in k kernel=0 block=1
