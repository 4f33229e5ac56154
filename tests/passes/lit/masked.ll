; Masked vector accesses: one site per element, recorded by the lanes whose mask has it.
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=IR

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, <2 x ptr addrspace(1)> %v, <2 x i1> %m) {
  %a = call <2 x i32> @llvm.masked.load.v2i32.p1(ptr addrspace(1) %g, i32 4, <2 x i1> %m, <2 x i32> undef)
  call void @llvm.masked.scatter.v2i32.v2p1(<2 x i32> %a, <2 x ptr addrspace(1)> %v, i32 4, <2 x i1> %m)
  call void @llvm.masked.store.v2i32.p1(<2 x i32> %a, ptr addrspace(1) %g, i32 4, <2 x i1> <i1 false, i1 true>)
  ret void
}
declare <2 x i32> @llvm.masked.load.v2i32.p1(ptr addrspace(1), i32, <2 x i1>, <2 x i32>)
declare void @llvm.masked.store.v2i32.p1(<2 x i32>, ptr addrspace(1), i32, <2 x i1>)
declare void @llvm.masked.scatter.v2i32.v2p1(<2 x i32>, <2 x ptr addrspace(1)>, i32, <2 x i1>)

; CHECK: site 0 load global 4 reads,predicated
; CHECK-NEXT: site 1 load global 4 reads,predicated
; CHECK-NEXT: site 2 store global 4 writes,predicated
; CHECK-NEXT: site 3 store global 4 writes,predicated
; CHECK-NEXT: site 4 store global 4 writes,predicated
; CHECK-NOT: site

; IR: define amdgpu_kernel void @__fade_k
; IR: [[BIT:%.*]] = extractelement <2 x i1> %m, {{i32|i64}} 1
; IR: [[BASE:%.*]] = ptrtoint ptr addrspace(1) %g to i64
; IR: [[AT:%.*]] = add i64 [[BASE]], 4
; IR: br i1 [[BIT]], label %[[THEN:.*]], label %
; IR: [[THEN]]:
; IR-NEXT: call void @__fade_rt_access({{.*}} i64 [[AT]], i32 1,
; IR: [[ONE:%.*]] = extractelement <2 x ptr addrspace(1)> %v, {{i32|i64}} 1
; IR: ptrtoint ptr addrspace(1) [[ONE]] to i64
