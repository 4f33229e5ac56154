; Modules for other targets come out as they went in.
; RUN: %bare_opt -passes=verify %s -S -o %t.plain && %opt -passes=fade %s -S -o %t.fade
; RUN: cmp %t.plain %t.fade
; RUN: sed s/x86_64-unknown-linux-gnu/aarch64-unknown-linux-gnu/ %s > %t.ll
; RUN: %bare_opt -passes=verify %t.ll -S -o %t.plain && %opt -passes=fade %t.ll -S -o %t.fade
; RUN: cmp %t.plain %t.fade

target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr %p) {
  store i32 1, ptr %p
  ret void
}
