# FADE_PORTABLE=ROOT: binaries for any distribution whose glibc is as old as ROOT's or newer (debootstrap --variant=minbase --include=libc6-dev bullseye ROOT:
# glibc 2.31). Libraries other than glibc and libgcc_s are linked from archives. Needs lld, which takes what it needs from an archive wherever it stands, so
# that the shared libraries, which come later, are not needed.
set(FADE_PORTABLE "" CACHE PATH "root of an older system, for whose glibc FADE is linked; empty: this system's")
if(NOT FADE_PORTABLE)
  return()
endif()
set(archives)
foreach(name dw elf sqlite3 z zstd bz2 lzma)
  find_library(FADE_${name}_ARCHIVE lib${name}.a REQUIRED)
  list(APPEND archives ${FADE_${name}_ARCHIVE})
endforeach()
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgcc_s.so.1 OUTPUT_VARIABLE unwinder OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE standard OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(standard ${standard} DIRECTORY)
# The compiler's own libraries are this system's.
add_link_options(--sysroot=${FADE_PORTABLE} --gcc-install-dir=${standard} -Wl,--as-needed -Wl,--exclude-libs,ALL
  # Plugins of compilers share their standard library.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:FADE_COMPILER_PLUGIN>>>:-static-libstdc++>)
add_compile_definitions(FMT_HEADER_ONLY=1) # there is no archive of it
# Parts of glibc, by the names of their files: the links that -lpthread finds lead out of the root.
set(parts)
foreach(name libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6)
  file(GLOB part ${FADE_PORTABLE}/lib/*-linux-gnu/${name})
  list(APPEND parts -Wl,${part}) # not as a library, whose folder CMake would tell the loader
endforeach()
add_library(fade_portable OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable.c)
link_libraries($<TARGET_OBJECTS:fade_portable> ${archives} -Wl,${unwinder} ${parts})
