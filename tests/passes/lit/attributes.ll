; What was inferred about the original and does not hold for the twin is gone; the rest stays.
; RUN: %opt -passes=fade %s -S | FileCheck %s

target triple = "amdgcn-amd-amdhsa"
define internal i32 @pure(i32 %x) #1 {
  ret i32 %x
}
define amdgpu_kernel void @k(ptr addrspace(1) %p) #0 {
  %v = call i32 @pure(i32 1)
  store i32 %v, ptr addrspace(1) %p
  ret void
}
; CHECK: define amdgpu_kernel void @k({{.*}}) #[[ORIGINAL:[0-9]+]]
; CHECK: define amdgpu_kernel void @__fade_k({{.*}}) #[[TWIN:[0-9]+]]
; CHECK: call i32 @__fade_pure({{.*}}) #[[CALL:[0-9]+]]
; CHECK: define internal i32 @__fade_pure({{.*}}) #[[CLONE:[0-9]+]]

; CHECK-DAG: attributes #[[ORIGINAL]] = { norecurse nosync nounwind willreturn "amdgpu-no-dispatch-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workitem-id-z" "amdgpu-waves-per-eu"="8,8" "uniform-work-group-size"="true" }
; CHECK-DAG: attributes #[[TWIN]] = { convergent norecurse nounwind "amdgpu-no-dispatch-ptr" "fade-instrumented" "uniform-work-group-size"="true" }
; The clone of a function needs no more than the function did.
; CHECK-DAG: attributes #[[CLONE]] = { convergent norecurse nounwind "amdgpu-no-workgroup-id-y" "fade-instrumented" }
attributes #0 = { norecurse nosync nounwind willreturn "amdgpu-no-dispatch-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workitem-id-z" "amdgpu-waves-per-eu"="8,8" "uniform-work-group-size"="true" }
attributes #1 = { norecurse nosync nounwind readnone willreturn "amdgpu-no-workgroup-id-y" }
