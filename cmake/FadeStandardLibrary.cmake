# fade_standard_library(out bindir): the flags for libc++, if an LLVM was compiled with it: by the names in what it exports. The functions that a plugin
# calls are in libLLVM or, if that is linked into the compiler, there.
function(fade_standard_library out bindir)
  file(GLOB libraries ${bindir}/../lib/libLLVM*.so*)
  set(${out} PARENT_SCOPE)
  foreach(library ${libraries} ${bindir}/clang)
    execute_process(COMMAND sh -c "\"$0\" -D \"$1\" | grep -m1 -oE ' _ZN4llvm.*NSt(3__1|7__cxx11)' | grep -oE '3__1|7__cxx11'"
                    ${FADE_NM} ${library} OUTPUT_VARIABLE name OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(name STREQUAL "3__1")
      # The compiler that loads the plugin has the library; a second one would be another.
      set(${out} -stdlib=libc++ -nostdlib++ PARENT_SCOPE)
    endif()
    if(name)
      return()
    endif()
  endforeach()
endfunction()
