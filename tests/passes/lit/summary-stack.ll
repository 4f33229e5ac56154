; The runtime of summary.ll compiles for all generations, without a byte of stack. LLVM 15 needs the
; module's word for gfx11 (targets-11.ll), and LLVM 16 takes 8 bytes on gfx906.
; REQUIRES: llvm-ge-17
; RUN: %opt '-passes=fade<summary;blocks>' %S/summary.ll -o %t.bc
; RUN: %llc %verify-relative -mcpu=gfx906 %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc -verify-machineinstrs -mcpu=gfx90a %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1030 %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1030 -mattr=+wavefrontsize64 %t.bc -o - | FileCheck %s --check-prefix=STACK
; RUN: %llc %verify-relative -mcpu=gfx1100 %t.bc -o - | FileCheck %s --check-prefix=STACK

; STACK-LABEL: {{^}}__fade_rt_summary:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_lds:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_flat:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_add:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_range:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_range_flat:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_block:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_begin:
; STACK: ScratchSize: 0{{$}}
; STACK-LABEL: {{^}}__fade_rt_summary_announce:
; STACK: ScratchSize: 0{{$}}
