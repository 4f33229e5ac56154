# The code objects that the tests read, in ${FADE_SAMPLES}.
file(MAKE_DIRECTORY ${FADE_SAMPLES})
set(FADE_SAMPLE_FILES "")

# codeobj_sample(name SOURCE file ARCH gfx90a VERSION 5 [RELATIVE] [FLAGS ...] [DEPENDS ...]): samples/name.hsaco
# RELATIVE: the compiler sees the source without its folder.
function(codeobj_sample name)
  cmake_parse_arguments(A "RELATIVE" "SOURCE;ARCH;VERSION" "FLAGS;DEPENDS" ${ARGN})
  set(out ${FADE_SAMPLES}/${name}.hsaco)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${A_SOURCE})
  if(A_RELATIVE)
    set(shown ${A_SOURCE})
  else()
    set(shown ${source})
  endif()
  add_custom_command(OUTPUT ${out}
    COMMAND ${FADE_HIP_CLANG} -x hip -nogpuinc -nogpulib --offload-device-only --no-gpu-bundle-output -O2 -std=c++17
            -Wno-unused-command-line-argument -w --offload-arch=${A_ARCH} -mcode-object-version=${A_VERSION} ${A_FLAGS}
            ${shown} -o ${out}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/kernels
    DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/gpu.h ${A_DEPENDS} COMMENT "code object ${name}" VERBATIM)
  set(FADE_SAMPLE_FILES ${FADE_SAMPLE_FILES} ${out} PARENT_SCOPE)
endfunction()

# Code that was generated in parts, as with device LTO: each has a metadata note.
set(parts)
foreach(name first second)
  set(part ${FADE_SAMPLES}/${name}.o)
  add_custom_command(OUTPUT ${part}
    COMMAND ${FADE_HIP_CLANG} -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=gfx90a -mcode-object-version=5 -nogpulib -O2 -c
            ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${name}.cl -o ${part}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${name}.cl COMMENT "part ${name} of a code object" VERBATIM)
  list(APPEND parts ${part})
endforeach()
add_custom_command(OUTPUT ${FADE_SAMPLES}/parts.so
  COMMAND ${FADE_HIP_CLANG} --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib ${parts} -o ${FADE_SAMPLES}/parts.so
  DEPENDS ${parts} COMMENT "code object of two parts" VERBATIM)
list(APPEND FADE_SAMPLE_FILES ${FADE_SAMPLES}/parts.so)

# Assembly whose functions have no .size, as Tensile's kernels.
add_custom_command(OUTPUT ${FADE_SAMPLES}/no-sizes.so
  COMMAND ${FADE_HIP_CLANG} --target=amdgcn-amd-amdhsa -mcpu=gfx90a -mcode-object-version=5
          ${CMAKE_CURRENT_SOURCE_DIR}/kernels/no_sizes.s -o ${FADE_SAMPLES}/no-sizes.so
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/no_sizes.s COMMENT "code object no-sizes" VERBATIM)
list(APPEND FADE_SAMPLE_FILES ${FADE_SAMPLES}/no-sizes.so)

foreach(arch gfx803 gfx900 gfx90a gfx942 gfx1030 gfx1100 gfx1201)
  foreach(version 4 5 6)
    codeobj_sample(arguments-${arch}-v${version} SOURCE arguments.hip ARCH ${arch} VERSION ${version})
  endforeach()
endforeach()
codeobj_sample(arguments-generic-v6 SOURCE arguments.hip ARCH gfx9-generic VERSION 6)
codeobj_sample(arguments-features-v5 SOURCE arguments.hip ARCH gfx90a:sramecc+:xnack- VERSION 5)
codeobj_sample(arguments-wave64-v5 SOURCE arguments.hip ARCH gfx1100 VERSION 5 FLAGS -mwavefrontsize64)
codeobj_sample(arguments-preload-v5 SOURCE arguments.hip ARCH gfx942 VERSION 5
  FLAGS -mllvm -amdgpu-kernarg-preload-count=8)
foreach(arch gfx90a gfx1030 gfx1100 gfx942 gfx1201)
  codeobj_sample(inlined-${arch}-g SOURCE inlined.hip ARCH ${arch} VERSION 5 FLAGS -g)
endforeach()
codeobj_sample(clones-gfx90a SOURCE clones.hip ARCH gfx90a VERSION 5)
codeobj_sample(inlined-gfx90a-lines SOURCE inlined.hip ARCH gfx90a VERSION 5 FLAGS -gline-tables-only)
codeobj_sample(inlined-gfx90a-relative SOURCE inlined.hip ARCH gfx90a VERSION 5 RELATIVE FLAGS -gline-tables-only)
codeobj_sample(inlined-gfx90a-O1-dwarf4 SOURCE inlined.hip ARCH gfx90a VERSION 5 FLAGS -g -gdwarf-4 -O1)
codeobj_sample(inlined-gfx90a-compressed SOURCE inlined.hip ARCH gfx90a VERSION 5 FLAGS -g -Xoffload-linker --compress-debug-sections=zlib)
codeobj_sample(inlined-gfx90a-O0 SOURCE inlined.hip ARCH gfx90a VERSION 5 FLAGS -g -O0)
codeobj_sample(inlined-gfx90a-nodebug SOURCE inlined.hip ARCH gfx90a VERSION 5)
foreach(version 4 5 6)
  codeobj_sample(arguments-O0-v${version} SOURCE arguments.hip ARCH gfx90a VERSION ${version} FLAGS -O0)
  codeobj_sample(control-gfx90a-v${version} SOURCE arguments.hip ARCH gfx90a VERSION ${version} FLAGS -DWITH_CONTROL)
  codeobj_sample(control-O0-v${version} SOURCE arguments.hip ARCH gfx90a VERSION ${version} FLAGS -O0 -DWITH_CONTROL)
endforeach()
# Code objects together with the compiler's assembly, which tells its own view of occupancy.
function(codeobj_sample_with_assembly name ARCH)
  codeobj_sample(${name} SOURCE registers.hip ARCH ${ARCH} VERSION 5 FLAGS ${ARGN})
  set(out ${FADE_SAMPLES}/${name}.s)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/kernels/registers.hip)
  add_custom_command(OUTPUT ${out}
    COMMAND ${FADE_HIP_CLANG} -x hip -nogpuinc -nogpulib --offload-device-only -S -O2 -w --offload-arch=${ARCH}
            -mcode-object-version=5 ${ARGN} ${source} -o ${out}
    DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/gpu.h COMMENT "assembly ${name}" VERBATIM)
  set(FADE_SAMPLE_FILES ${FADE_SAMPLE_FILES} ${out} PARENT_SCOPE)
endfunction()
foreach(arch gfx803 gfx900 gfx90a gfx942 gfx1010 gfx1030 gfx1100 gfx1102 gfx1201)
  codeobj_sample_with_assembly(registers-${arch} ${arch})
endforeach()
codeobj_sample_with_assembly(registers-gfx1100-wave64 gfx1100 -mwavefrontsize64)

# Real code: the code objects in Debian's librocrand, unpacked by the bundler.
find_library(FADE_ROCRAND rocrand)
if(FADE_ROCRAND)
  set(fatbin ${FADE_SAMPLES}/rocrand.fatbin)
  add_custom_command(OUTPUT ${fatbin}
    COMMAND ${FADE_OBJCOPY} --dump-section .hip_fatbin=${fatbin} ${FADE_ROCRAND} /dev/null VERBATIM)
  foreach(id gfx1030 gfx803 gfx900:xnack- gfx90a:xnack+ gfx90a:xnack-)
    string(REGEX REPLACE "[^a-z0-9]" "" name ${id})
    if(id MATCHES "\\+")
      string(APPEND name on)
    endif()
    set(out ${FADE_SAMPLES}/rocrand-${name}.hsaco)
    add_custom_command(OUTPUT ${out}
      COMMAND ${FADE_BUNDLER} --unbundle --type=o --input=${fatbin} --targets=hipv4-amdgcn-amd-amdhsa--${id}
              --output=${out} DEPENDS ${fatbin} COMMENT "rocrand for ${id}" VERBATIM)
    list(APPEND FADE_SAMPLE_FILES ${out})
  endforeach()
endif()

# What the instrumentation makes of the argument lists.
if(TARGET fadeinstr-19)
  foreach(version 4 5 6)
    codeobj_sample(instrumented-v${version} SOURCE arguments.hip ARCH gfx90a VERSION ${version} DEPENDS fadeinstr-19
      FLAGS -gline-tables-only -fpass-plugin=$<TARGET_FILE:fadeinstr-19>)
    codeobj_sample(instrumented-O0-v${version} SOURCE arguments.hip ARCH gfx90a VERSION ${version} DEPENDS fadeinstr-19
      FLAGS -O0 -gline-tables-only -fpass-plugin=$<TARGET_FILE:fadeinstr-19>)
  endforeach()
endif()

# A host library with two fat binaries, each for two processors; nothing ever loads it.
foreach(form "" -compressed)
  set(out ${FADE_SAMPLES}/libfat${form}.so)
  set(sources ${CMAKE_CURRENT_SOURCE_DIR}/kernels/fat_one.hip ${CMAKE_CURRENT_SOURCE_DIR}/kernels/fat_two.hip)
  add_custom_command(OUTPUT ${out}
    COMMAND ${FADE_HIP_CLANG} -x hip -nogpuinc -nogpulib -nohipwrapperinc -O2 -w --offload-arch=gfx90a --offload-arch=gfx1030
            $<$<STREQUAL:${form},-compressed>:--offload-compress> -fPIC -shared ${sources} -o ${out}
    DEPENDS ${sources} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/gpu.h COMMENT "fat library libfat${form}.so" VERBATIM)
  list(APPEND FADE_SAMPLE_FILES ${out})
endforeach()
add_custom_target(fade_codeobj_samples ALL DEPENDS ${FADE_SAMPLE_FILES})
