; A kernel that has a twin gets no second one, in the same run or in a later one.
; RUN: %opt -passes=fade,fade %s -S | FileCheck %s
; RUN: %opt -passes=fade %s -o %t.bc && %opt -passes=fade %t.bc -S | FileCheck %s
; RUN: %opt '-passes=fade<mode=replace>,fade<mode=replace>' %s -S | FileCheck %s --check-prefix=REPLACE

; The second run instruments what the first one left out.
; RUN: %opt '-passes=fade<kernels=^first$>,fade' %s -S | FileCheck %s --check-prefix=LATER

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

; CHECK-COUNT-4: define {{.*}}amdgpu_kernel
; CHECK-NOT: define {{.*}}amdgpu_kernel
; CHECK-NOT: __fade___fade

; REPLACE-COUNT-2: define {{.*}}amdgpu_kernel
; REPLACE-NOT: define {{.*}}amdgpu_kernel

; LATER: define amdgpu_kernel void @first(
; LATER: define amdgpu_kernel void @second(
; LATER: define amdgpu_kernel void @__fade_first(
; LATER: define amdgpu_kernel void @__fade_second(
; LATER-NOT: define {{.*}}amdgpu_kernel
