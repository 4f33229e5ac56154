; Loads, stores and atomics in the spaces that a user sees; never the stack; constants on request.
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: %opt '-passes=fade<spaces=constant>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=CONST
; RUN: %opt '-passes=fade<spaces=lds+flat>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SOME
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=IR

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr %f, ptr addrspace(3) %l, ptr addrspace(4) %c) {
  %stack = alloca i32, addrspace(5)
  %generic = addrspacecast ptr addrspace(5) %stack to ptr
  %v1 = load i8, ptr addrspace(1) %g
  %v2 = load <4 x float>, ptr addrspace(1) %g
  store volatile i64 1, ptr addrspace(1) %g
  %v3 = load i16, ptr %f
  store i32 1, ptr addrspace(3) %l
  %v4 = atomicrmw add ptr addrspace(1) %g, i32 1 seq_cst
  %v5 = cmpxchg ptr addrspace(3) %l, i64 0, i64 1 seq_cst seq_cst
  %v6 = load atomic i32, ptr addrspace(1) %g monotonic, align 4
  %v7 = load i32, ptr addrspace(4) %c
  ; the stack, directly and through a flat pointer
  store i32 1, ptr addrspace(5) %stack
  store i32 1, ptr %generic
  ; an odd width, a pointer
  %v8 = load i24, ptr addrspace(1) %g
  store ptr addrspace(1) %g, ptr addrspace(1) %g
  ret void
}

; CHECK: site 0 load global 1 reads
; CHECK-NEXT: site 1 load global 16 reads
; CHECK-NEXT: site 2 store global 8 writes,volatile
; CHECK-NEXT: site 3 load flat 2 reads
; CHECK-NEXT: site 4 store lds 4 writes
; CHECK-NEXT: site 5 atomic global 4 reads,writes,atomic
; CHECK-NEXT: site 6 atomic lds 8 reads,writes,atomic
; CHECK-NEXT: site 7 load global 4 reads,atomic
; CHECK-NEXT: site 8 load global 3 reads
; CHECK-NEXT: site 9 store global 8 writes
; CHECK-NOT: site

; CONST: site 0 load constant 4 reads
; CONST-NOT: site

; SOME: site 0 load flat 2
; SOME-NEXT: site 1 store lds 4
; SOME-NEXT: site 2 atomic lds 8
; SOME-NOT: site

; Flat accesses go to the function that leaves out scratch; LDS addresses are zero-extended offsets.
; IR: define amdgpu_kernel void @__fade_k
; IR: ptrtoint ptr %f to i64
; IR-NEXT: call void @__fade_rt_access_flat(
; IR: [[L:%.*]] = ptrtoint ptr addrspace(3) %l to i32
; IR-NEXT: [[Z:%.*]] = zext i32 [[L]] to i64
; IR-NEXT: call void @__fade_rt_access({{.*}} i64 [[Z]], i32 {{[0-9]+}}, i32 poison, i32 %__fade_wave)
