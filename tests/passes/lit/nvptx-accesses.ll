; nvptx64: accesses to global, generic and shared memory; constant memory on request; never the stack or arguments.
; RUN: %opt -passes=fade %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptx-sites %t.ptx %t.sites && %dump-sites %t.sites | FileCheck %s
; RUN: %opt '-passes=fade<spaces=constant>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx && %ptx-sites %t.ptx %t.sites && %dump-sites %t.sites | FileCheck %s --check-prefix=CONST
; RUN: %opt '-passes=fade<spaces=global+flat+lds+constant>' %s -S | FileCheck %s --check-prefix=IR

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
%struct = type { [8 x i32] }

define ptx_kernel void @k(ptr addrspace(1) %g, ptr %f, ptr addrspace(3) %l, ptr addrspace(4) %c, ptr byval(%struct) %s, i32 %i) {
  %stack = alloca [8 x i32]
  %v1 = load i8, ptr addrspace(1) %g
  %v2 = load <4 x float>, ptr addrspace(1) %g
  store volatile i64 1, ptr addrspace(1) %g
  %v3 = load i16, ptr %f
  store i32 1, ptr addrspace(3) %l
  %v4 = atomicrmw add ptr addrspace(1) %g, i32 1 seq_cst
  %v5 = cmpxchg ptr addrspace(3) %l, i64 0, i64 1 seq_cst seq_cst
  %v6 = load i32, ptr addrspace(4) %c
  %t = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %i
  %v7 = load i32, ptr addrspace(4) %t
  ; the stack
  %slot = getelementptr [8 x i32], ptr %stack, i32 0, i32 %i
  store i32 1, ptr %slot
  %local = addrspacecast ptr %slot to ptr addrspace(5)
  store i32 1, ptr addrspace(5) %local
  ; arguments by value
  %element = getelementptr %struct, ptr %s, i32 0, i32 0, i32 %i
  %v8 = load i32, ptr %element
  %parameter = addrspacecast ptr %element to ptr addrspace(101)
  %v9 = load i32, ptr addrspace(101) %parameter
  call void @llvm.memcpy.p0.p0.i64(ptr %stack, ptr %s, i64 32, i1 false)
  ; from an argument to memory, one side of which is seen
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %g, ptr %s, i64 32, i1 false)
  ; a pointer that may be either: the runtime looks at it
  %odd = trunc i32 %i to i1
  %either = select i1 %odd, ptr %slot, ptr %f
  store i8 1, ptr %either
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)

; CHECK: site 0 load global 1 reads
; CHECK-NEXT: site 1 load global 16 reads
; CHECK-NEXT: site 2 store global 8 writes,volatile
; CHECK-NEXT: site 3 load flat 2 reads
; CHECK-NEXT: site 4 store lds 4 writes
; CHECK-NEXT: site 5 atomic global 4 reads,writes,atomic
; CHECK-NEXT: site 6 atomic lds 8 reads,writes,atomic
; CHECK-NEXT: site 7 copy-write global 32 writes
; CHECK-NEXT: site 8 store flat 1 writes
; CHECK-NOT: site

; CONST: site 0 load constant 4 reads
; CONST-NEXT: site 1 load constant 4 reads
; CONST-NOT: site

; The runtime decides about generic pointers. A shared address is an offset, the low half of the pointer. A constant
; one is given as the generic address of the same place.
; IR: define ptx_kernel void @__fade_k
; IR: ptrtoint ptr %f to i64
; IR-NEXT: call void @__fade_rt_access_flat(
; IR: [[L:%.*]] = ptrtoint ptr addrspace(3) %l to i32
; IR-NEXT: [[Z:%.*]] = zext i32 [[L]] to i64
; IR-NEXT: call void @__fade_rt_access({{.*}} i64 [[Z]], i32 {{[0-9]+}}, i32 poison, i32 %__fade_wave)
; IR: [[G:%.*]] = addrspacecast ptr addrspace(4) %c to ptr
; IR-NEXT: [[A:%.*]] = ptrtoint ptr [[G]] to i64
; IR-NEXT: call void @__fade_rt_access({{.*}} i64 [[A]], i32 {{[0-9]+}}, i32 poison, i32 %__fade_wave)
