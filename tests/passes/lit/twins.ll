; Each kernel keeps its body, and a twin with one more argument stands beside it.
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=ONCE

target triple = "amdgcn-amd-amdhsa"

; The original is not touched: same body, same attributes.
; CHECK: define protected amdgpu_kernel void @plain(ptr addrspace(1) %p) #[[ATTRS:[0-9]+]] {
; CHECK-NEXT: %v = load i32, ptr addrspace(1) %p
; CHECK-NEXT: store i32 %v, ptr addrspace(1) %p
; CHECK-NEXT: ret void
; CHECK-NEXT: }
define protected amdgpu_kernel void @plain(ptr addrspace(1) %p) #0 {
  %v = load i32, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; CHECK: define weak_odr protected amdgpu_kernel void @odr()
define weak_odr protected amdgpu_kernel void @odr() comdat {
  ret void
}
$odr = comdat any

; CHECK: define internal amdgpu_kernel void @local()
define internal amdgpu_kernel void @local() {
  ret void
}

; Device functions that no kernel calls are left alone.
; CHECK: define void @unused(ptr addrspace(1) %p) {
; ONCE-NOT: @__fade_unused
define void @unused(ptr addrspace(1) %p) {
  store i32 0, ptr addrspace(1) %p
  ret void
}

; CHECK: define protected amdgpu_kernel void @__fade_plain(ptr addrspace(1) %p, ptr addrspace(1) noundef %__fade_control)
; CHECK: call i32 @__fade_rt_wave_begin(ptr addrspace(1) %__fade_control, i64 {{-?[0-9]+}}, i32 0,
; CHECK: call void @__fade_rt_access(ptr addrspace(1) %__fade_control, i64 %{{.*}}, i32 0, i32 poison, i32 %__fade_wave)
; CHECK-NEXT: %v = load i32, ptr addrspace(1) %p
; CHECK: call void @__fade_rt_access(ptr addrspace(1) %__fade_control, i64 %{{.*}}, i32 1, i32 poison, i32 %__fade_wave)
; CHECK-NEXT: store i32 %v, ptr addrspace(1) %p

; Linkage, visibility and comdat are those of the original.
; CHECK: define weak_odr protected amdgpu_kernel void @__fade_odr(ptr addrspace(1) noundef %__fade_control){{.*}} comdat
; CHECK: define internal amdgpu_kernel void @__fade_local(

; CHECK: attributes #[[ATTRS]] = { "amdgpu-flat-work-group-size"="1,256" }
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
