; Accesses through buffer descriptors: address and range check as the hardware does them.
; RUN: %opt -passes=fade %s -o %t.bc 2>%t.err && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: FileCheck %s --check-prefix=SAID < %t.err
; RUN: %opt -passes=fade %s -S 2>/dev/null | FileCheck %s --check-prefix=IR

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(<4 x i32> %rsrc, i32 %vindex, i32 %voffset, i32 %soffset) {
  %a = call <2 x float> @llvm.amdgcn.raw.buffer.load.v2f32(<4 x i32> %rsrc, i32 %voffset, i32 %soffset, i32 0)
  call void @llvm.amdgcn.struct.buffer.store.f32(float 1.0, <4 x i32> %rsrc, i32 %vindex, i32 %voffset, i32 %soffset, i32 0)
  %b = call i32 @llvm.amdgcn.raw.buffer.atomic.add.i32(i32 1, <4 x i32> %rsrc, i32 %voffset, i32 0, i32 0)
  %c = call i32 @llvm.amdgcn.struct.buffer.atomic.cmpswap.i32(i32 1, i32 2, <4 x i32> %rsrc, i32 %vindex, i32 %voffset, i32 0, i32 0)
  %d = call float @llvm.amdgcn.raw.buffer.load.format.f32(<4 x i32> %rsrc, i32 %voffset, i32 %soffset, i32 0)
  ret void
}
declare <2 x float> @llvm.amdgcn.raw.buffer.load.v2f32(<4 x i32>, i32, i32, i32)
declare float @llvm.amdgcn.raw.buffer.load.format.f32(<4 x i32>, i32, i32, i32)
declare void @llvm.amdgcn.struct.buffer.store.f32(float, <4 x i32>, i32, i32, i32, i32)
declare i32 @llvm.amdgcn.raw.buffer.atomic.add.i32(i32, <4 x i32>, i32, i32, i32)
declare i32 @llvm.amdgcn.struct.buffer.atomic.cmpswap.i32(i32, i32, <4 x i32>, i32, i32, i32, i32)

; CHECK: site 0 load global 8 reads,buffer
; CHECK-NEXT: site 1 store global 4 writes,buffer
; CHECK-NEXT: site 2 atomic global 4 reads,writes,atomic,buffer
; CHECK-NEXT: site 3 atomic global 4 reads,writes,atomic,buffer
; CHECK-NOT: site

; SAID: fade: not instrumented: typed buffer accesses (1, first in __fade_k)
; SAID-NOT: fade:

; The raw load: base + voffset + soffset, in range when the last byte lies below num_records.
; IR: define amdgpu_kernel void @__fade_k
; IR: [[W1:%.*]] = extractelement <4 x i32> %rsrc, i64 1
; IR: and i64 %{{.*}}, 65535
; IR: [[COUNT:%.*]] = zext i32 %{{.*}} to i64
; IR: [[END:%.*]] = add i64 %{{.*}}, 8
; IR: [[S:%.*]] = zext i32 %soffset to i64
; IR: [[ADDRESS:%.*]] = add i64 %{{.*}}, [[S]]
; IR: [[LAST:%.*]] = add i64 [[END]], [[S]]
; IR: [[IN:%.*]] = icmp ule i64 [[LAST]], [[COUNT]]
; IR: br i1 [[IN]]
; IR: call void @__fade_rt_access({{.*}} i64 [[ADDRESS]], i32 0,
; The structured store: the index counts strides and is compared with num_records.
; IR: [[STRIDE:%.*]] = and i64 %{{.*}}, 16383
; IR: [[INDEX:%.*]] = zext i32 %vindex to i64
; IR: mul i64 [[INDEX]], [[STRIDE]]
; IR: [[BELOW:%.*]] = icmp ult i64 [[INDEX]], %{{.*}}
; IR: [[RAW:%.*]] = icmp eq i64 [[STRIDE]], 0
; IR: select i1 [[RAW]], i1 %{{.*}}, i1 [[BELOW]]
