; memcpy, memmove and memset: two sides or one, with a constant length in the site or a variable one in the record.
; RUN: %opt -passes=fade %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: %opt -passes=fade %s -S | FileCheck %s --check-prefix=IR

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %l, ptr %f, i64 %n) {
  call void @llvm.memcpy.p1.p3.i64(ptr addrspace(1) %g, ptr addrspace(3) %l, i64 48, i1 false)
  call void @llvm.memmove.p1.p1.i64(ptr addrspace(1) %g, ptr addrspace(1) %g, i64 0, i1 false)
  call void @llvm.memset.p1.i64(ptr addrspace(1) %g, i8 0, i64 %n, i1 true)
  call void @llvm.memcpy.p0.p1.i64(ptr %f, ptr addrspace(1) %g, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p1.p3.i64(ptr addrspace(1), ptr addrspace(3), i64, i1)
declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
declare void @llvm.memmove.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)

; CHECK: site 0 copy-read lds 48 reads at
; CHECK-NEXT: site 1 copy-write global 48 writes at
; CHECK-NEXT: site 2 fill global 0 writes,volatile,length at
; CHECK-NEXT: site 3 copy-read global 0 reads,length at
; CHECK-NEXT: site 4 copy-write flat 0 writes,length at
; CHECK-NOT: site

; IR: define amdgpu_kernel void @__fade_k
; IR: call void @__fade_rt_access({{.*}}, i32 0, i32 poison
; IR: call void @__fade_rt_access({{.*}}, i32 1, i32 poison
; IR: call void @__fade_rt_range({{.*}} i32 2, i64 {{.*}}, i64 %n)
; IR: call void @__fade_rt_range({{.*}} i32 3, i64 {{.*}}, i64 %n)
; IR: call void @__fade_rt_range_flat({{.*}} i32 4, i64 {{.*}}, i64 %n)
