# Which LLVMs the instrumentation pass is built for: FADE_LLVM_VERSIONS if set, else all that are
# here. The result is in FADE_LLVM_FOUND; for each of them, n: FADE_LLVM_<n>_BINDIR, _INCLUDEDIR.
set(FADE_LLVM_VERSIONS "" CACHE STRING "LLVMs to build libfadeinstr for, like 16;19; empty: all found")
set(FADE_LLVM_SUPPORTED 15 16 17 18 19 20 21 22 23)
set(FADE_LLVM_PREFERRED 19 CACHE STRING "LLVM that libfadeinstr.so belongs to, if it is among them")

set(FADE_LLVM_FOUND)
foreach(version ${FADE_LLVM_SUPPORTED})
  if(FADE_LLVM_VERSIONS AND NOT version IN_LIST FADE_LLVM_VERSIONS)
    continue()
  endif()
  find_program(FADE_LLVM_CONFIG_${version} NAMES llvm-config-${version}
               HINTS /usr/lib/llvm-${version}/bin DOC "llvm-config of LLVM ${version}")
  find_program(FADE_CLANG_${version} NAMES clang-${version} HINTS /usr/lib/llvm-${version}/bin
               DOC "clang ${version}, for the device runtime")
  mark_as_advanced(FADE_LLVM_CONFIG_${version} FADE_CLANG_${version})
  if(NOT FADE_LLVM_CONFIG_${version} OR NOT FADE_CLANG_${version})
    continue()
  endif()
  execute_process(COMMAND ${FADE_LLVM_CONFIG_${version}} --bindir --includedir
                  OUTPUT_VARIABLE dirs OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" dirs "${dirs}")
  list(GET dirs 0 FADE_LLVM_${version}_BINDIR)
  list(GET dirs 1 FADE_LLVM_${version}_INCLUDEDIR)
  # llvm-config alone comes without the headers.
  if(EXISTS ${FADE_LLVM_${version}_INCLUDEDIR}/llvm/IR/Module.h)
    list(APPEND FADE_LLVM_FOUND ${version})
  endif()
endforeach()
foreach(version ${FADE_LLVM_VERSIONS})
  if(NOT version IN_LIST FADE_LLVM_FOUND)
    message(FATAL_ERROR "FADE_LLVM_VERSIONS names LLVM ${version}, but llvm-config-${version}, "
                        "its headers or clang-${version} are not here")
  endif()
endforeach()
