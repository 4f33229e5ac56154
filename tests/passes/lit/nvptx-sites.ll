; nvptx64: the site table is a variable that a host can ask for by name. A later run adds a table to it.
; RUN: %opt -passes=fade %s -S | FileCheck %s
; RUN: %opt '-passes=fade<kernels=^first$>,fade<blocks;kernels=^second$>' %s -o %t.bc && %llc-nvptx %t.bc -o %t.ptx
; RUN: %ptx-sites %t.ptx %t.sites && %dump-sites %t.sites | FileCheck %s --check-prefix=TWO
; RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx

target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; CHECK: @__fade_sites = addrspace(1) constant [{{[0-9]+}} x i8] c"FADESITE{{.*}}", align 8
; CHECK: @llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @__fade_sites to ptr)], section "llvm.metadata"
; CHECK-NOT: module asm

define ptx_kernel void @first(ptr addrspace(1) %p) #0 {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @second(ptr addrspace(1) %p) #0 {
  ret void
}
attributes #0 = { "target-cpu"="sm_80" }

; TWO: table source={{.*}}nvptx-sites.ll target=sm_80 modes=1 options=kernels=^first$
; TWO-NEXT: kernel 0 first twin=__fade_first at :0 modes=1 flags=4
; TWO-NEXT: site 0 store global 4 writes at :0:0 in first kernel=0 block=-
; TWO-NEXT: table source={{.*}}nvptx-sites.ll target=sm_80 modes=2 options=blocks;kernels=^second$
; TWO-NEXT: kernel 0 second twin=__fade_second at :0 modes=2 flags=4
; TWO-NEXT: site 0 block
; TWO-NOT: table

; PTX: .visible .global .align 8 .b8 __fade_sites[
; PTX-NOT: __fade_sites
