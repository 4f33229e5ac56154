; A mistake in the options is an error that shows it.
; RUN: not %opt '-passes=fade<acceses>' %s -S 2>&1 | FileCheck %s --check-prefix=WORD
; RUN: env FADE_INSTRUMENT='accesses;block' not %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=ENV
; RUN: not %opt '-passes=fade<kernels=a[>' %s -S 2>&1 | FileCheck %s --check-prefix=REGEX
; RUN: not %opt '-passes=fade<kernels=>' %s -S 2>&1 | FileCheck %s --check-prefix=NOREGEX
; RUN: not %opt '-passes=fade<scope=a.hip:20-10>' %s -S 2>&1 | FileCheck %s --check-prefix=SCOPE
; RUN: not %opt '-passes=fade<scope=a.hip:1x>' %s -S 2>&1 | FileCheck %s --check-prefix=SCOPE2
; RUN: not %opt '-passes=fade<scope=>' %s -S 2>&1 | FileCheck %s --check-prefix=SCOPE3
; RUN: not %opt '-passes=fade<spaces=global+ldx>' %s -S 2>&1 | FileCheck %s --check-prefix=SPACE
; RUN: not %opt '-passes=fade<mode=swap>' %s -S 2>&1 | FileCheck %s --check-prefix=MODE
; RUN: not %opt '-passes=fade<inline=many>' %s -S 2>&1 | FileCheck %s --check-prefix=INLINE
; RUN: not %opt '-passes=fade<accesses' %s -S 2>&1 | FileCheck %s --check-prefix=BRACKET

; RUN: not %opt '-passes=fade<kernels=a;kernels=b>' %s -S 2>&1 | FileCheck %s --check-prefix=TWICE
; RUN: not %opt '-passes=fade<spaces=>' %s -S 2>&1 | FileCheck %s --check-prefix=NOSPACE
; RUN: not %opt '-passes=fade<inline=-1>' %s -S 2>&1 | FileCheck %s --check-prefix=NEGATIVE
; RUN: not %opt '-passes=fade<accesses=all>' %s -S 2>&1 | FileCheck %s --check-prefix=VALUE
; RUN: not %opt '-passes=fade<mode=twin;mode=replace>' %s -S 2>&1 | FileCheck %s --check-prefix=TWOMODES
; RUN: not %opt '-passes=fade<inline=1; inline = 2>' %s -S 2>&1 | FileCheck %s --check-prefix=TWOINLINE
; RUN: env FADE_INSTRUMENT='kernels="k"' not %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=QUOTES
; RUN: env "FADE_INSTRUMENT=scope='a.hip'" not %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=QUOTES2
; RUN: env "FADE_INSTRUMENT=accesses,blocks" not %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=COMMA
; RUN: not %opt '-passes=fade<scope=a.hip:0>' %s -S 2>&1 | FileCheck %s --check-prefix=ZERO
; RUN: not %opt '-passes=fade<scope=a.hip:-5>' %s -S 2>&1 | FileCheck %s --check-prefix=MINUS
; RUN: not %opt '-passes=fade<scope=a.hip:99999999999>' %s -S 2>&1 | FileCheck %s --check-prefix=HUGE

; TWOMODES: error: fade: 'mode=replace': there is a 'mode=' before it
; TWOINLINE: error: fade: 'inline = 2': there is a 'inline=' before it
; QUOTES: error: fade: quotes in 'kernels="k"'; write it without
; QUOTES2: error: fade: quotes in 'scope='a.hip''; write it without
; COMMA: error: fade: unknown option 'accesses,blocks'; known:
; ZERO: error: fade: 'scope=a.hip:0': lines are counted from 1
; MINUS: error: fade: 'scope=a.hip:-5' is not FILE, FILE:LINE or FILE:FIRST-LAST
; HUGE: error: fade: 'scope=a.hip:99999999999' is not FILE, FILE:LINE or FILE:FIRST-LAST

; Names that fit nothing are no error: the same options serve all files of a program. Spaces and empty items do not matter.
; RUN: %opt '-passes=fade<kernels=other>' %s -S 2>&1 | FileCheck %s --check-prefix=NOKERNEL
; RUN: %opt '-passes=fade<scope=other.hip>' %s -S 2>&1 | FileCheck %s --check-prefix=NOSCOPE
; RUN: %opt '-passes=fade< ;; accesses ; accesses; kernels = k >' %s -S 2>&1 | FileCheck %s --check-prefix=SPACES
; NOKERNEL: fade: no kernel of this module has such a name: kernels=other
; NOSCOPE: fade: no code of this module is in scope: scope=other.hip
; SPACES-NOT: fade: no
; SPACES: @__fade_k(

; TWICE: error: fade: 'kernels=b': there is a 'kernels=' before it
; NOSPACE: error: fade: unknown address space '' in 'spaces='
; NEGATIVE: error: fade: 'inline=-1' needs a number
; VALUE: error: fade: unknown option 'accesses=all'; known:
; WORD: error: fade: unknown option 'acceses'; known: accesses, blocks, counts, kernel,
; ENV: error: fade: unknown option 'block'; known:
; REGEX: error: fade: bad regular expression in 'kernels=a[': it has a [ without a ]
; NOREGEX: error: fade: bad regular expression in 'kernels=': it is empty
; SCOPE: error: fade: 'scope=a.hip:20-10' ends before it begins
; SCOPE2: error: fade: 'scope=a.hip:1x' is not FILE, FILE:LINE or FILE:FIRST-LAST
; SCOPE3: error: fade: no file in 'scope='

; A list of scopes in a file.
; RUN: printf '# two\na.hip:3\n\nb.hip:7-4 # wrong\n' > %t.scopes
; RUN: not %opt '-passes=fade<scope=@%t.scopes>' %s -S 2>&1 | FileCheck %s --check-prefix=LIST
; LIST: error: fade: {{.*}}.scopes:4: 'scope=b.hip:7-4' ends before it begins
; RUN: printf '# none\n' > %t.none
; RUN: not %opt '-passes=fade<scope=@%t.none>' %s -S 2>&1 | FileCheck %s --check-prefix=EMPTY
; EMPTY: error: fade: there is no scope in '{{.*}}.none'
; RUN: not %opt '-passes=fade<scope=@/nowhere/scopes>' %s -S 2>&1 | FileCheck %s --check-prefix=NOLIST
; NOLIST: error: fade: cannot read 'scope=@/nowhere/scopes': No such file or directory
; RUN: env FADE_INSTRUMENT='scope=a.hip:5,x' not %opt -passes=fade %s -S 2>&1 | FileCheck %s --check-prefix=PART
; PART: error: fade: 'scope=a.hip:5,x' is not FILE, FILE:LINE or FILE:FIRST-LAST
; SPACE: error: fade: unknown address space 'ldx' in 'spaces=global+ldx'; known: global, flat, lds, constant
; MODE: error: fade: unknown mode 'swap' in 'mode=swap'; known: twin, replace
; INLINE: error: fade: 'inline=many' needs a number
; BRACKET: {{invalid pipeline|unknown pass name}} 'fade<accesses'

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  ret void
}
