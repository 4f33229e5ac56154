; Accesses that may be added up: a site is named by its slot in the table (128 bytes before the
; first, 64 each), and what a function needs is found at its start. Kernels call for what is not in
; the slot of its site, and in loops for what is not as before. The runtime needs not a
; byte of stack (summary-stack.ll: on more processors).
; RUN: %opt '-passes=fade<summary>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<summary;blocks>' %s -o %t.bc
; RUN: %llc -verify-machineinstrs -mcpu=gfx90a %t.bc -o - | %scratch | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1030 %t.bc -o - | %scratch | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1030 -mattr=+wavefrontsize64 %t.bc -o - | %scratch | FileCheck %s --check-prefix=STACK
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
define amdgpu_kernel void @in_a_loop(ptr addrspace(1) %g, i32 %n) {
start:
  br label %loop
loop:
  %i = phi i32 [ 0, %start ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %g, i32 %i
  store volatile i32 %i, ptr addrspace(1) %at
  store volatile i32 %i, ptr addrspace(3) @lds
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)

; CHECK-LABEL: define amdgpu_kernel void @__fade_k(
; CHECK-NOT: alloca
; CHECK: call <4 x i32> @__fade_rt_summary_begin(
; A site is named by its slot, 128 and 64 for each, with the bytes of a lane and 32 for atomics (FADE_SLOT_SIZE).
; CHECK: call i64 @__fade_rt_summary(ptr addrspace(1) {{(noundef )?}}%__fade_table, i64 {{.*}}, i32 {{(noundef )?}}132, i32 {{(noundef )?}}%__fade_wave, i32 {{(noundef )?}}[[KEY:%[0-9]+]])
; CHECK: call void @__fade_rt_summary_flat(ptr addrspace(1) %__fade_table, i64 {{.*}}, i32 196, i32 %__fade_wave, i32 [[KEY]])
; CHECK: call i64 @__fade_rt_summary_lds(ptr addrspace(1) {{(noundef )?}}%__fade_table, i64 {{.*}}, i32 {{(noundef )?}}260, i32 {{(noundef )?}}%__fade_wave)
; Of atomics, all of the address matters.
; CHECK: call i64 @__fade_rt_summary(ptr addrspace(1) {{(noundef )?}}%__fade_table, i64 {{.*}}, i32 {{(noundef )?}}356, i32 {{(noundef )?}}%__fade_wave, i32 {{(noundef )?}}-1)
; CHECK: call void @__fade_rt_summary_range{{(_flat)?}}(
; CHECK: call void @__fade_rt_summary_range{{(_flat)?}}(
; CHECK: call void @__fade_called(ptr addrspace(1) %g, ptr addrspace(1) %__fade_table, i32 %__fade_wave)
; CHECK-NOT: @__fade_rt_wave_begin
; CHECK-NOT: @__fade_rt_summary_add
; CHECK-LABEL: define internal void @__fade_called(
; CHECK: load i32, ptr addrspace(1)
; CHECK: call i64 @__fade_rt_summary(
; CHECK-NOT: @__fade_rt_access
; CHECK-LABEL: define amdgpu_kernel void @__fade_in_a_loop(
; CHECK-NOT: alloca
; CHECK: call void @__fade_rt_summary_add(
; CHECK: call i64 @__fade_rt_summary(ptr addrspace(1) {{(noundef )?}}%__fade_table
; CHECK: call void @__fade_rt_summary_add(
; CHECK: call i64 @__fade_rt_summary_lds(ptr addrspace(1) {{(noundef )?}}%__fade_table
; When the wave ends; accesses to LDS are none of its own.
; CHECK: call void @__fade_rt_summary_add(ptr addrspace(1) {{(noundef )?}}%__fade_table, i32 {{.*}}, i32 {{(noundef )?}}%__fade_wave, i32 {{.*}}, i64
; CHECK: call void @__fade_rt_summary_add(ptr addrspace(1) {{(noundef )?}}%__fade_table, i32 {{.*}}, i32 {{(noundef )?}}0, i32 {{.*}}, i64
; CHECK: ret void
; CHECK-NOT: @__fade_rt_summary_keep

; STACK: {{^}}__fade_rt_summary: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_add: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_announce: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_begin: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_block: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_flat: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_lds: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_range: 0{{$}}
; STACK-NEXT: {{^}}__fade_rt_summary_range_flat: 0{{$}}

; SITES: kernel 0 k twin=__fade_k at :0 modes=131 flags=16
; COUNTS: error: fade: 'summary' cannot be combined with counts, kernel or times

; Where the wave and its table are known. Blocks, and waves by themselves, only where everything is recorded.
; BLOCKS-LABEL: define amdgpu_kernel void @__fade_k(
; BLOCKS: [[ALL:%[0-9]+]] = icmp eq i32 {{%[0-9]+}}, 0
; BLOCKS-NEXT: br i1 [[ALL]]
; BLOCKS: call void @__fade_rt_summary_announce(ptr addrspace(1) {{.*}}, i32 %__fade_wave)
; BLOCKS: %__fade_table = inttoptr
; BLOCKS-NEXT: br i1 [[ALL]]
; BLOCKS: call void @__fade_rt_summary_block(ptr addrspace(1) %__fade_table, i32 128, i32 %__fade_wave)
; BLOCKS: call i64 @__fade_rt_summary(ptr addrspace(1) {{(noundef )?}}%__fade_table, i64 {{.*}}, i32 {{(noundef )?}}196, i32 {{(noundef )?}}%__fade_wave
; BLOCKS-LABEL: define internal void @__fade_called(
; BLOCKS: [[STREAM:%[0-9]+]] = and i32 {{%[0-9]+}}, 1
; BLOCKS: [[ALL_HERE:%[0-9]+]] = icmp ne i32 [[STREAM]], 0
; BLOCKS: br i1 [[ALL_HERE]]
; BLOCKS: call void @__fade_rt_summary_block(
