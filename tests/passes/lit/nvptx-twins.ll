; nvptx64: a kernel is told by its calling convention; its twin has one more argument, and the original stays as it is.
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt '-passes=fade<accesses;blocks;kernel>' %s -S | FileCheck %s --check-prefix=TOGETHER
; RUN: %opt '-passes=fade<kernels=^second$>' %s -S | FileCheck %s --check-prefix=FILTER

target triple = "nvptx64-nvidia-cuda"

; CHECK: define ptx_kernel void @first(ptr addrspace(1) %p, float %f) #[[ATTRS:[0-9]+]] {
; CHECK-NEXT: store float %f, ptr addrspace(1) %p
; CHECK-NEXT: ret void
; CHECK-NEXT: }
define ptx_kernel void @first(ptr addrspace(1) %p, float %f) #0 {
  store float %f, ptr addrspace(1) %p
  ret void
}

define weak_odr ptx_kernel void @second() {
  call void @helper(ptr null)
  ret void
}

; Neither a function nor one with another language's convention for kernels is one.
define void @helper(ptr %p) noinline {
  store i32 1, ptr %p
  ret void
}
define spir_kernel void @no_kernel_here(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

; Ids come from special registers, and nothing of AMD's is left.
; CHECK-NOT: llvm.amdgcn
; CHECK: define ptx_kernel void @__fade_first(ptr addrspace(1) %p, float %f, ptr addrspace(1) noundef %__fade_control) #[[TWIN:[0-9]+]]
; CHECK-NEXT: [[X:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
; CHECK-NEXT: [[Y:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
; CHECK-NEXT: [[Z:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
; CHECK: [[ITEM:%.*]] = or i32 [[X]],
; CHECK: [[GX:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
; CHECK-NEXT: [[GY:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
; CHECK-NEXT: [[GZ:%.*]] = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
; CHECK-NEXT: %__fade_wave = call i32 @__fade_rt_wave_begin(ptr addrspace(1) %__fade_control, i64 {{-?[0-9]+}}, i32 0, i32 [[GX]], i32 [[GY]], i32 [[GZ]], i32 [[ITEM]])
; CHECK: call void @__fade_rt_access(ptr addrspace(1) %__fade_control, i64 {{%.*}}, i32 0, i32 poison, i32 %__fade_wave)
; CHECK-NEXT: store float %f
; CHECK: define weak_odr ptx_kernel void @__fade_second(ptr addrspace(1) noundef %__fade_control)
; CHECK: call void @__fade_helper(ptr null, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK: define internal void @__fade_helper(ptr %p, ptr addrspace(1) %__fade_control, i32 %__fade_wave)
; CHECK-NOT: llvm.amdgcn
; CHECK-NOT: __fade_no_kernel_here

; What limits a kernel's launches limits its twin's.
; CHECK: attributes #[[TWIN]] = { convergent {{.*}}"fade-instrumented" "nvvm.maxntid"="256" "target-cpu"="sm_80"
attributes #0 = { nounwind "target-cpu"="sm_80" "nvvm.maxntid"="256" }

; FILTER-NOT: @__fade_first(
; FILTER: define weak_odr ptx_kernel void @__fade_second(
; FILTER-NOT: @__fade_first(

; Calls of the runtime stay where the lanes come by together.
; TOGETHER-DAG: define internal {{.*}}@__fade_rt_access({{.*}} #[[RT:[0-9]+]]
; TOGETHER-DAG: define internal {{.*}}@__fade_rt_block({{.*}} #[[RT]]
; TOGETHER-DAG: define internal {{.*}}@__fade_rt_wave_begin({{.*}} #[[RT]]
; TOGETHER-DAG: define internal {{.*}}@__fade_rt_wave_end({{.*}} #[[RT]]
; TOGETHER: attributes #[[RT]] = { {{.*}}convergent
