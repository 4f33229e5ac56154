; The runtime of summary.ll needs no stack on other generations, either. LLVM 15 compiles it for
; gfx11 only if the module says so (targets-11.ll), and LLVM 16 takes 8 bytes on gfx906.
; REQUIRES: llvm-ge-17
; RUN: %opt '-passes=fade<summary;blocks>' %S/summary.ll -o %t.bc
; RUN: %llc %verify-relative -mcpu=gfx906 %t.bc -o - | %scratch | FileCheck %S/summary.ll --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1100 %t.bc -o - | %scratch | FileCheck %S/summary.ll --check-prefix=STACK
