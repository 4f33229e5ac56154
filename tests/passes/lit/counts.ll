; Counts alone: blocks that always run equally often share a counter, counters are registers that the compiler does not
; know of, and what was counted is added to memory where the wave ends.
; RUN: sed s/PROCESSOR/gfx90a/ %s > %t.ll && %opt '-passes=fade<counts>' %t.ll -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %t.ll -o %t.bc && %llc -verify-machineinstrs -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s --check-prefix=SITES
; RUN: %llc -verify-machineinstrs -O0 %t.bc -o - | FileCheck %s --check-prefix=CODE
; RUN: %llc -verify-machineinstrs %t.bc -o - | FileCheck %s --check-prefixes=CODE,QUICK
; RUN: sed 's/PROCESSOR/gfx1030" "target-features"="+wavefrontsize32/' %s > %t.10.ll && %opt '-passes=fade<counts>' %t.10.ll -o %t.10.bc
; RUN: %llc -verify-machineinstrs -filetype=obj %t.10.bc -o %t.10.o

target triple = "amdgcn-amd-amdhsa"

; entry -> loop { even | odd -> latch } -> yes | no -> out
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %bit = and i32 %id, %i
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %then, label %latch
then:
  store volatile i32 %i, ptr addrspace(1) %p
  br label %latch
latch:
  %next = add nuw nsw i32 %i, 1
  %few = icmp ult i32 %next, 100
  %other = icmp ne i32 %next, %id
  %again = and i1 %few, %other
  br i1 %again, label %loop, label %behind
behind:
  %last = icmp eq i32 %id, 7
  br i1 %last, label %yes, label %out
yes:
  store volatile i32 %n, ptr addrspace(1) %p
  ret void
out:
  ret void
}

; How often the first block runs, and the one behind the loop, is known; the other counters are 0 first.
; CHECK-LABEL: define amdgpu_kernel void @__fade_k(
; CHECK-SAME: [[ATTRIBUTES:#[0-9]+]]
; CHECK-NOT: call {{.*}}@__fade_rt_
; CHECK: asm sideeffect "s_mov_b64 s[82:83], 0\0As_mov_b64 s[84:85], 0\0As_mov_b64 s[86:87], 0", "={s89},~{scc}"
; CHECK-NOT: asm
; CHECK: loop:
; CHECK: asm sideeffect "s_bcnt1_i32_b64 s89, exec\0As_addc_u32 [[A:s[0-9]+]], [[A]], 0\0As_add_u32 [[B:s[0-9]+]], [[B]], s89"
; CHECK: then:
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 s89, exec\0As_addc_u32
; CHECK: latch:
; CHECK-NOT: asm
; CHECK: behind:
; CHECK-NOT: asm
; Outside of loops the lanes say it all.
; CHECK: yes:
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 [[YES:s[0-9]+]], exec",
; CHECK: out:
; CHECK-NEXT: asm sideeffect "s_bcnt1_i32_b64 [[OUT:s[0-9]+]], exec",
; CHECK: __fade_exit:
; CHECK: load <4 x i32>, ptr addrspace(4)
; CHECK: br i1 {{.*}}, !prof
; CHECK: asm sideeffect "s_bfm_b64 exec, 4, 0\0Av_mbcnt_lo
; CHECK-SAME: global_atomic_add_x2 v4, v[0:1], $0 offset:16
; CHECK-SAME: global_atomic_add_x2 v4, v[2:3], $0 offset:24
; CHECK: attributes [[ATTRIBUTES]] = {{.*}}"amdgpu-num-sgpr"=

; SITES: kernel 0 k twin=__fade_k at :0 modes=8 flags=10 counters=s{{[0-9]+}} to s89{{$}}
; SITES: site 0 block - 0 missing {{.*}}counter=0
; SITES: site 1 block - 0 - {{.*}}counter=[[LOOP:[0-9]+]]
; SITES: site 2 block - 0 - {{.*}}counter=
; SITES: site 3 block - 0 - {{.*}}counter=[[LOOP]]
; SITES: site 4 block - 0 missing {{.*}}counter=0
; SITES: site 5 block - 0 - {{.*}}counter=

; CODE: __fade_k:
; QUICK-NOT: scratch
; CODE: .amdhsa_kernel __fade_k
; QUICK: .amdhsa_private_segment_fixed_size 0
; CODE: .amdhsa_next_free_sgpr 90

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "target-cpu"="PROCESSOR" }
