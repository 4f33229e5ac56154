# HIP programs and code objects, compiled with clang for the code-object version that the ROCm on this machine reads.
include(FadeProcessors)
find_program(FADE_HIP_CLANG NAMES clang++-19 clang++ DOC "clang++ used to compile HIP sources")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-multiarch OUTPUT_VARIABLE FADE_MULTIARCH
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT FADE_MULTIARCH)
  set(FADE_MULTIARCH ${CMAKE_LIBRARY_ARCHITECTURE})
endif()
find_path(FADE_DEVICE_LIBS ocml.bc
  PATHS /usr/lib/${FADE_MULTIARCH}/amdgcn/bitcode /usr/lib/amdgcn/bitcode /opt/rocm/amdgcn/bitcode NO_DEFAULT_PATH)
# HIP before 5.5 reads code objects up to version 4; the default of clang 19 is 5.
set(FADE_CODE_OBJECT_VERSION 4 CACHE STRING "code-object version of HIP programs in tests and examples")
set(FADE_HIP_FLAGS -x hip -mcode-object-version=${FADE_CODE_OBJECT_VERSION} --rocm-path=/usr
  --rocm-device-lib-path=${FADE_DEVICE_LIBS} -D__HIP_PLATFORM_AMD__ -Wno-unused-command-line-argument)
# HIP 5.2 crashes on kernels whose metadata lists hidden_completion_action, so the attribute is set for all of them.
list(APPEND FADE_HIP_FLAGS -Xclang -default-function-attr -Xclang amdgpu-no-completion-action
  -Xclang -default-function-attr -Xclang amdgpu-no-default-queue)

# AMD's own ROCm has a clang of its own, whose device libraries an older clang cannot read: its programs are compiled with that one, and its plugin.
list(TRANSFORM fade_rocm_places APPEND /llvm/bin OUTPUT_VARIABLE places)
list(TRANSFORM fade_rocm_places APPEND /lib/llvm/bin OUTPUT_VARIABLE more_places)
find_program(FADE_ROCM_CLANG NAMES clang++ HINTS ${places} ${more_places} NO_DEFAULT_PATH DOC "clang++ of AMD's ROCm")
find_path(FADE_ROCM_HIP hip/hip_runtime.h HINTS ${fade_rocm_includes} NO_DEFAULT_PATH DOC "headers of AMD's HIP")
set(FADE_HIP_PLUGIN) # empty: the preferred one
if(FADE_ROCM_CLANG AND FADE_ROCM_HIP)
  cmake_path(GET FADE_ROCM_HIP PARENT_PATH root)
  set(FADE_HIP_CLANG ${FADE_ROCM_CLANG})
  set(FADE_HIP_PLUGIN rocm)
  set(FADE_HIP_FLAGS -x hip --rocm-path=${root} -D__HIP_PLATFORM_AMD__ -Wno-unused-command-line-argument -L${root}/lib -Wl,-rpath,${root}/lib)
endif()

# HIP's headers, precompiled for the host and the GPUs of most programs: reading them is most of the time that compiling such
# a program takes. Clang takes the file of the folder that fits, and only one made with the same definitions, with or without
# optimization.
set(FADE_HIP_HEADER ${CMAKE_BINARY_DIR}/hip_headers/hip.h)
set(FADE_HIP_HEADERS) # what there is: gfx90a-O2, ...
if(FADE_HIP_CLANG AND NOT FADE_HIP_PLUGIN)
  set(FADE_HIP_HEADERS host-O0 host-O2 gfx90a-O0 gfx90a-O2 gfx1030-O0 gfx1030-O2 gfx942-O2 gfx1100-O2)
endif()
if(FADE_HIP_HEADERS AND NOT TARGET fade_hip_headers)
  file(MAKE_DIRECTORY ${FADE_HIP_HEADER}.pch)
  file(CONFIGURE OUTPUT ${FADE_HIP_HEADER} CONTENT "#include <hip/hip_runtime.h>\n")
  set(outputs)
  foreach(kind ${FADE_HIP_HEADERS})
    string(REGEX MATCH "^(.*)-(O[02])$" matched ${kind})
    set(level -${CMAKE_MATCH_2})
    set(side --offload-device-only --offload-arch=${CMAKE_MATCH_1})
    if(CMAKE_MATCH_1 STREQUAL host)
      set(side --offload-host-only)
    else()
      string(SUBSTRING ${CMAKE_MATCH_1} 3 -1 version)
      if(NOT EXISTS ${FADE_DEVICE_LIBS}/oclc_isa_version_${version}.bc)
        list(APPEND side -nogpulib) # as its code objects are (cmake/FadeInstrumentedObject.cmake)
      endif()
    endif()
    set(out ${FADE_HIP_HEADER}.pch/${kind}.pch)
    add_custom_command(OUTPUT ${out}
      COMMAND ${FADE_HIP_CLANG} ${FADE_HIP_FLAGS} ${side} ${level} -std=c++17 -fsyntax-only ${FADE_HIP_HEADER}
              -Xclang -emit-pch -Xclang -o -Xclang ${out}
      DEPENDS ${FADE_HIP_HEADER} COMMENT "HIP's headers for ${kind}" VERBATIM)
    list(APPEND outputs ${out})
  endforeach()
  add_custom_target(fade_hip_headers DEPENDS ${outputs})
  file(GLOB stale ${FADE_HIP_HEADER}.pch/*) # of an earlier configuration, which clang would take
  list(REMOVE_ITEM stale ${outputs})
  if(stale)
    file(REMOVE ${stale})
  endif()
endif()

# fade_hip_headers(out archs flags): the option that takes HIP's precompiled headers, where they fit, and what to depend on in
# ${out}_DEPENDS.
function(fade_hip_headers out archs flags)
  set(${out} PARENT_SCOPE)
  set(${out}_DEPENDS PARENT_SCOPE)
  set(level O2)
  if("-O0" IN_LIST flags)
    set(level O0)
  endif()
  set(kinds host-O0 host-O2 ${archs})
  list(TRANSFORM kinds APPEND -${level} REGEX "^gfx")
  set(missing ${kinds})
  list(REMOVE_ITEM missing ${FADE_HIP_HEADERS})
  if(missing OR "${flags}" MATCHES "-D|-nogpuinc|-nogpulib|-mwavefrontsize64")
    return()
  endif()
  list(TRANSFORM kinds REPLACE "(.+)" "${FADE_HIP_HEADER}.pch/\\1.pch")
  set(${out} -include ${FADE_HIP_HEADER} PARENT_SCOPE)
  set(${out}_DEPENDS fade_hip_headers ${kinds} PARENT_SCOPE)
endfunction()

# In front of compile commands for gfx950, where clang does not know it.
set(FADE_HIP_GFX950)
if(FADE_HIP_CLANG)
  fade_clang_newer(gfx950 ${FADE_HIP_CLANG} FADE_HIP_GFX950)
endif()

# fade_use_hip_of(root): in the current folder, programs are for the HIP 6 or newer of a Debian root (scripts/rocm-root).
macro(fade_use_hip_of root)
  # The device libraries of this machine, and in place of those for GPUs that they do not know, a relative's.
  set(device_libs ${CMAKE_CURRENT_BINARY_DIR}/device-libs)
  file(MAKE_DIRECTORY ${device_libs})
  file(GLOB libraries ${FADE_DEVICE_LIBS}/*.bc)
  foreach(library ${libraries})
    cmake_path(GET library FILENAME library_name)
    file(CREATE_LINK ${library} ${device_libs}/${library_name} SYMBOLIC)
  endforeach()
  foreach(pair 941:940 942:940 950:940 1100:1030 1150:1030 1151:1030 1152:1030 1153:1030 1200:1030 1201:1030)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 unknown)
    list(GET pair 1 relative)
    if(NOT EXISTS ${FADE_DEVICE_LIBS}/oclc_isa_version_${unknown}.bc)
      file(CREATE_LINK ${FADE_DEVICE_LIBS}/oclc_isa_version_${relative}.bc ${device_libs}/oclc_isa_version_${unknown}.bc SYMBOLIC)
    endif()
  endforeach()
  # clang looks for the headers of --rocm-path after those of this machine, which are of another HIP.
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/include)
  file(CREATE_LINK ${root}/usr/include/hip ${CMAKE_CURRENT_BINARY_DIR}/include/hip SYMBOLIC)
  set(FADE_HIP_FLAGS -x hip -mcode-object-version=5 --rocm-path=${root}/usr -isystem ${CMAKE_CURRENT_BINARY_DIR}/include --rocm-device-lib-path=${device_libs}
    -D__HIP_PLATFORM_AMD__ -Wno-unused-command-line-argument -L${root}/usr/lib/${FADE_MULTIARCH} -Wl,--allow-shlib-undefined)
  set(FADE_HIP_HEADERS) # those of another HIP
  set(FADE_HIP_CLANG ${FADE_HIP_GFX950} ${FADE_HIP_CLANG})
endmacro()

# fade_hip_executable(name SOURCE file.hip [ARCHS gfx90a ...] [FLAGS ...] [LIBS ...] [DEPENDS ...])
# The program lands in ${CMAKE_CURRENT_BINARY_DIR}/programs/name; target name, so that tests can depend on it. Kernels are
# optimized; the host's side is compiled more often than it runs.
function(fade_hip_executable name)
  cmake_parse_arguments(A "" "SOURCE" "ARCHS;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT A_ARCHS)
    set(A_ARCHS gfx90a gfx1030)
  endif()
  fade_hip_headers(headers "${A_ARCHS}" "${A_FLAGS}")
  list(TRANSFORM A_ARCHS PREPEND --offload-arch=)
  cmake_path(ABSOLUTE_PATH A_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # Not beside the target's own name: ninja knows both by their path.
  set(out ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/programs)
  add_custom_command(OUTPUT ${out}
    COMMAND ${FADE_HIP_CLANG} ${FADE_HIP_FLAGS} ${A_ARCHS} -O2 -Xarch_host -O0 -std=c++17 ${A_FLAGS} ${headers} ${A_SOURCE}
            -o ${out} -MD -MF ${out}.d -lamdhip64 ${A_LIBS}
    DEPENDS ${A_SOURCE} ${A_DEPENDS} ${headers_DEPENDS} DEPFILE ${out}.d COMMENT "HIP ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${out})
  set_target_properties(${name} PROPERTIES FADE_PROGRAM ${out})
endfunction()

# fade_code_object(name SOURCE file ARCH gfx90a [FLAGS ...]): one device code object, name.hsaco.
function(fade_code_object name)
  cmake_parse_arguments(A "" "SOURCE;ARCH" "FLAGS;DEPENDS" ${ARGN})
  cmake_path(ABSOLUTE_PATH A_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.hsaco)
  # Precompiled headers are made without definitions: these go into a source of their own.
  set(definitions ${A_FLAGS})
  set(others ${A_FLAGS})
  list(FILTER definitions INCLUDE REGEX "^-D")
  list(FILTER others EXCLUDE REGEX "^-D")
  fade_hip_headers(headers ${A_ARCH} "${others}")
  set(compiled ${A_SOURCE})
  if(headers AND definitions)
    list(TRANSFORM definitions REPLACE "^-D([^=]+)=?(.*)$" "#define \\1 \\2\n")
    string(JOIN "" definitions ${definitions})
    set(compiled ${CMAKE_CURRENT_BINARY_DIR}/${name}.hip)
    file(CONFIGURE OUTPUT ${compiled} CONTENT "${definitions}#include \"${A_SOURCE}\"\n")
    set(A_FLAGS ${others})
  endif()
  add_custom_command(OUTPUT ${out}
    COMMAND ${FADE_HIP_CLANG} ${FADE_HIP_FLAGS} --offload-arch=${A_ARCH} --offload-device-only --no-gpu-bundle-output
            -O2 -std=c++17 ${A_FLAGS} ${headers} ${compiled} -o ${out}
    DEPENDS ${A_SOURCE} ${compiled} ${A_DEPENDS} ${headers_DEPENDS} COMMENT "code object ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${out})
endfunction()
