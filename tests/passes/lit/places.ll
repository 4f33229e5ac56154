; Places in the source: file, line, column, function, and where it was inlined; scopes select by them.
; RUN: %opt '-passes=fade<accesses;blocks>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o
; RUN: %objcopy --dump-section .fade.sites=%t.sites %t.o && %dump-sites %t.sites | FileCheck %s
; RUN: %opt '-passes=fade<scope=a.hip:10>' %s -S | FileCheck %s --check-prefix=TEN
; RUN: %opt '-passes=fade<scope=/src/inc/b.h:1-9>' %s -S | FileCheck %s --check-prefix=INNER
; RUN: %opt '-passes=fade<scope=hip>' %s -S | FileCheck %s --check-prefix=NONE
; RUN: %opt '-passes=fade<scope=inc/b.h;scope=a.hip:10-10>' %s -S | FileCheck %s --check-prefix=TWO
; RUN: %opt '-passes=fade<scope=:5>' %s -S | FileCheck %s --check-prefix=INNER
; RUN: %opt '-passes=fade<scope=:4-10>' %s -S | FileCheck %s --check-prefix=TWO
; RUN: env FADE_INSTRUMENT='scope=a.hip:2-3,10' %opt -passes=fade %s -S | FileCheck %s --check-prefix=TEN
; RUN: printf '# of this file\na.hip:10\n\n  inc/b.h  # and of that\n' > %t.scopes
; RUN: %opt '-passes=fade<scope=@%t.scopes>' %s -S | FileCheck %s --check-prefix=TWO

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) !dbg !5 {
  %v = load i32, ptr addrspace(1) %p, !dbg !8
  store i32 %v, ptr addrspace(1) %p, !dbg !11
  ret void, !dbg !14
}
; CHECK: table source={{.*}}places.ll
; CHECK: kernel 0 k twin=__fade_k at /src/a.hip:9 modes=3
; CHECK: site 0 block - 0 - at /src/a.hip:10:4 in _Z1kPi kernel=0 block=- lines /src/a.hip:10 /src/a.hip:11 /src/a.hip:12 /src/inc/b.h:5
; CHECK: site 1 load global 4 reads at /src/a.hip:10:4 in _Z1kPi kernel=0 block=0
; CHECK: site 2 store global 4 writes at /src/inc/b.h:5:7 in _Z5innerv kernel=0 block=0 < /src/a.hip:11:3 in _Z1kPi

; TEN-COUNT-1: call void @__fade_rt_access
; TEN-NEXT: %v = load
; TEN-NOT: call void @__fade_rt_access
; INNER: call void @__fade_rt_access
; INNER-NEXT: store
; INNER-NOT: call void @__fade_rt_access
; NONE-NOT: call void @__fade_rt_access
; TWO-COUNT-2: call void @__fade_rt_access

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.hip", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIFile(filename: "inc/b.h", directory: "/src")
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "k", linkageName: "_Z1kPi", scope: !1, file: !1, line: 9, type: !4, scopeLine: 9, spFlags: DISPFlagDefinition, unit: !0)
!6 = distinct !DISubprogram(name: "inner", linkageName: "_Z5innerv", scope: !3, file: !3, line: 4, type: !4, scopeLine: 4, spFlags: DISPFlagDefinition, unit: !0)
!8 = !DILocation(line: 10, column: 4, scope: !5)
!11 = !DILocation(line: 5, column: 7, scope: !6, inlinedAt: !12)
!12 = distinct !DILocation(line: 11, column: 3, scope: !5)
!14 = !DILocation(line: 12, column: 1, scope: !5)
