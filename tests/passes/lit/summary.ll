; Accesses that may be added up: a site is named by its slot in the table (128 bytes before the
; first, 64 each), and what a function needs is found at its start. The runtime compiles for all
; generations, without a byte of stack.
; RUN: %opt '-passes=fade<summary>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<summary;blocks>' %s -o %t.bc
; RUN: %llc %verify-relative -mcpu=gfx906 %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc -verify-machineinstrs -mcpu=gfx90a %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1030 %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES
; RUN: %opt '-passes=fade<summary;blocks>' %s -S | FileCheck %s --check-prefix=BLOCKS
; RUN: not %opt '-passes=fade<summary;counts>' %s -S 2>&1 | FileCheck %s --check-prefix=COUNTS

target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [64 x i32] poison
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f, i64 %n) {
  %v = load i32, ptr addrspace(1) %g
  store i32 %v, ptr %f
  store i32 %v, ptr addrspace(3) @lds
  %old = atomicrmw add ptr addrspace(1) %g, i32 1 monotonic
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %f, i64 %n, i1 false)
  call void @called(ptr addrspace(1) %g)
  ret void
}
define internal void @called(ptr addrspace(1) %g) noinline {
  store volatile i32 1, ptr addrspace(1) %g
  ret void
}
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)

; CHECK-LABEL: define amdgpu_kernel void @__fade_k(
; CHECK: call <4 x i32> @__fade_rt_summary_begin(
; CHECK: call void @__fade_rt_summary(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 128, i32 %__fade_wave, i32 [[KEY:%[0-9]+]])
; CHECK: call void @__fade_rt_summary_flat(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 192, i32 %__fade_wave, i32 [[KEY]])
; CHECK: call void @__fade_rt_summary_lds(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 256, i32 %__fade_wave)
; Of atomics, all of the address matters.
; CHECK: call void @__fade_rt_summary(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 320, i32 %__fade_wave, i32 -1)
; CHECK: call void @__fade_rt_summary_range{{(_flat)?}}(
; CHECK: call void @__fade_rt_summary_range{{(_flat)?}}(
; CHECK: call void @__fade_called(ptr addrspace(1) %g, ptr addrspace(1) %__fade_table, i32 %__fade_wave)
; CHECK-NOT: @__fade_rt_wave_begin
; CHECK-LABEL: define internal void @__fade_called(
; CHECK: load i32, ptr addrspace(1)
; CHECK: call void @__fade_rt_summary(
; CHECK-NOT: @__fade_rt_access

; STACK-LABEL: {{^}}__fade_rt_summary:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_lds:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_flat:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_range:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_range_flat:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_block:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_begin:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_announce:
; STACK: ScratchSize: 0{{$}}

; SITES: kernel 0 k twin=__fade_k at :0 modes=131 flags=16
; COUNTS: error: fade: 'summary' cannot be combined with counts, kernel or times

; Where the wave and its table are known.
; BLOCKS-LABEL: define amdgpu_kernel void @__fade_k(
; BLOCKS: call void @__fade_rt_summary_announce(ptr addrspace(1) {{.*}}, i32 %__fade_wave)
; BLOCKS: %__fade_table = inttoptr
; BLOCKS: call void @__fade_rt_summary_block(ptr addrspace(1) %__fade_table, i32 128, i32 %__fade_wave)
; BLOCKS: call void @__fade_rt_summary(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 192, i32 %__fade_wave
; BLOCKS-LABEL: define internal void @__fade_called(
; BLOCKS: call void @__fade_rt_summary_block(
