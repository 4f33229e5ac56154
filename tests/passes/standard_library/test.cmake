# With which C++ library a plugin is built: the one whose names are in what the compiler exports, in libLLVM or in clang itself.
#   cmake -DFADE=<source folder> -DWORK=<folder> -DCC=<C compiler> -DNM=<nm> -P test.cmake
include(${FADE}/cmake/FadeStandardLibrary.cmake)
set(FADE_NM ${NM})

# expect(name file symbol wanted): an LLVM whose library or compiler exports a function of that name.
function(expect name file symbol wanted)
  set(root ${WORK}/${name})
  file(REMOVE_RECURSE ${root})
  file(MAKE_DIRECTORY ${root}/bin ${root}/lib)
  file(WRITE ${root}/x.c "void ${symbol}(void) {}\n")
  execute_process(COMMAND ${CC} -shared -fPIC ${root}/x.c -o ${root}/${file} COMMAND_ERROR_IS_FATAL ANY)
  fade_standard_library(flags ${root}/bin)
  if(NOT "${flags}" STREQUAL "${wanted}")
    message(FATAL_ERROR "${name}: '${flags}' instead of '${wanted}'")
  endif()
endfunction()

expect(libcxx lib/libLLVM.so.23.0git _ZN4llvm9StringRef3strENSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE "-stdlib=libc++;-nostdlib++")
expect(libstdcxx lib/libLLVM.so.22.1 _ZN4llvm9StringRef3strENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE "")
expect(static_libcxx bin/clang _ZN4llvm9StringRef3strENSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE "-stdlib=libc++;-nostdlib++")
expect(static_libstdcxx bin/clang _ZN4llvm9StringRef3strENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE "")
expect(of_others lib/libLLVM.so.22.1 _ZNSt3__16vectorIiE "") # not a name of LLVM's
expect(nothing lib/other.so f "")
