; The original's line table says of which block its code is, by discriminators: one more than the number of the block's
; site. Nothing else of it changes, and accesses alone leave it as it is.
; RUN: %opt '-passes=fade<accesses;counts>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<counts>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<blocks>' %s -S | FileCheck %s
; RUN: %opt '-passes=fade<accesses>' %s -S | FileCheck %s --check-prefix=NONE
; RUN: %opt '-passes=fade<counts;mode=replace>' %s -S | FileCheck %s --check-prefix=NONE
; RUN: %opt '-passes=fade<counts>' %s -o %t.bc && %llc -mcpu=gfx90a -filetype=obj %t.bc -o %t.o

target triple = "amdgcn-amd-amdhsa"
; CHECK: define amdgpu_kernel void @k(
; CHECK: br i1 %c, label %then, label %end, !dbg ![[FIRST:[0-9]+]]
; CHECK: store i32 1, ptr addrspace(1) %p, align 4, !dbg ![[THEN:[0-9]+]]
; CHECK-NEXT: store i32 2, ptr addrspace(1) %p, align 4{{$}}
; CHECK: ret void, !dbg ![[END:[0-9]+]]
define amdgpu_kernel void @k(ptr addrspace(1) %p, i1 %c) !dbg !5 {
entry:
  br i1 %c, label %then, label %end, !dbg !8
then:
  store i32 1, ptr addrspace(1) %p, align 4, !dbg !8
  store i32 2, ptr addrspace(1) %p, align 4
  br label %end, !dbg !8
end:
  ret void, !dbg !8
}
; CHECK-DAG: ![[FIRST]] = !DILocation(line: 10, column: 4, scope: ![[F:[0-9]+]])
; CHECK-DAG: ![[F]] = !DILexicalBlockFile({{.*}}discriminator: 1)
; CHECK-DAG: ![[THEN]] = !DILocation(line: 10, column: 4, scope: ![[T:[0-9]+]])
; CHECK-DAG: ![[T]] = !DILexicalBlockFile({{.*}}discriminator: 2)
; CHECK-DAG: ![[END]] = !DILocation(line: 10, column: 4, scope: ![[E:[0-9]+]])
; CHECK-DAG: ![[E]] = !DILexicalBlockFile({{.*}}discriminator: 3)
; NONE-NOT: DILexicalBlockFile

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.hip", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 5}
!4 = !DISubroutineType(types: !6)
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 9, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!6 = !{null}
!8 = !DILocation(line: 10, column: 4, scope: !5)
