# FADE_PORTABLE=ROOT: binaries for any distribution whose glibc is as old as ROOT's or newer. scripts/release makes that root: glibc 2.31 and the libraries of that
# time, which go into the install tree. The standard library is linked into each binary.
set(FADE_PORTABLE "" CACHE PATH "root of an older system, for whose libraries FADE is linked; empty: this system's")
if(NOT FADE_PORTABLE)
  return()
endif()
include(GNUInstallDirs)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE standard OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(standard ${standard} DIRECTORY)
# The compiler's archives are this system's.
add_link_options(--sysroot=${FADE_PORTABLE} --gcc-install-dir=${standard} -Wl,--as-needed -Wl,--exclude-libs,ALL
  # Plugins of compilers share their standard library.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:FADE_COMPILER_PLUGIN>>>:-static-libstdc++>
  # Libraries of the tree find each other, also those of the root, which know nothing of it: this is what the older kind of path is for.
  -Wl,--disable-new-dtags)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/..;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
add_compile_definitions(FMT_HEADER_ONLY=1)

# By the names of their files: what links in the root lead to may be outside of it. They stand before this system's, which are then not needed.
set(libraries)
foreach(name libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6 libgcc_s.so.1)
  file(GLOB library ${FADE_PORTABLE}/lib/*-linux-gnu/${name})
  list(APPEND libraries -Wl,${library}) # not as a library, whose folder CMake would tell the loader
endforeach()
foreach(name libdw.so.1 libelf.so.1 libz.so.1 libzstd.so.1 libbz2.so.1.0 liblzma.so.5 libsqlite3.so.0)
  file(GLOB library ${FADE_PORTABLE}/lib/*-linux-gnu/${name} ${FADE_PORTABLE}/usr/lib/*-linux-gnu/${name})
  if(NOT library)
    message(FATAL_ERROR "${FADE_PORTABLE} has no ${name}: scripts/release makes such a root")
  endif()
  list(GET library 0 library) # the same twice where /lib is a link
  file(REAL_PATH ${library} file)
  list(APPEND libraries -Wl,${library})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${name})
endforeach()
# Zydis (x86-64) is this system's; it needs no newer glibc.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/portable)
foreach(name Zydis Zycore)
  find_library(FADE_${name}_LIBRARY ${name})
  if(FADE_${name}_LIBRARY)
    file(CREATE_LINK ${FADE_${name}_LIBRARY} ${CMAKE_BINARY_DIR}/portable/lib${name}.so SYMBOLIC)
    add_link_options(-L${CMAKE_BINARY_DIR}/portable)
  endif()
endforeach()
if(FADE_Zydis_LIBRARY)
  file(REAL_PATH ${FADE_Zydis_LIBRARY} file)
  get_filename_component(name ${file} NAME)
  string(REGEX MATCH "libZydis\\.so\\.[0-9]+\\.[0-9]+" name ${name})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${name})
endif()
add_library(fade_portable OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable.c)
link_libraries($<TARGET_OBJECTS:fade_portable> ${libraries})
