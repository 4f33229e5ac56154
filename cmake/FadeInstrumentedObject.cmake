# Flags for an architecture that the device libraries of this machine do not know: they are linked by hand, with the
# constants of a relative.
function(fade_device_library_flags arch flags out)
  string(SUBSTRING ${arch} 3 -1 version)
  set(result)
  if(NOT EXISTS ${FADE_DEVICE_LIBS}/oclc_isa_version_${version}.bc)
    set(relative 1030)
    set(wave64 off)
    if(arch MATCHES "^gfx9")
      set(relative 940)
    endif()
    if(arch MATCHES "^gfx9" OR "-mwavefrontsize64" IN_LIST flags)
      set(wave64 on)
    endif()
    set(result -nogpulib)
    foreach(name hip ocml ockl oclc_daz_opt_off oclc_unsafe_math_off oclc_finite_only_off
                 oclc_correctly_rounded_sqrt_on oclc_wavefrontsize64_${wave64}
                 oclc_isa_version_${relative} oclc_abi_version_400)
      list(APPEND result -Xclang -mlink-builtin-bitcode -Xclang ${FADE_DEVICE_LIBS}/${name}.bc)
    endforeach()
  endif()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# Code objects with instrumented twins, made by the plugin that was just built.
# fade_instrumented_object(name SOURCE file ARCH arch [OPTIONS text] [FLAGS ...]): name.hsaco in the binary directory,
# and its path in the directory's property FADE_OBJECTS.
function(fade_instrumented_object name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "SOURCE;ARCH;OPTIONS" "FLAGS")
  cmake_path(ABSOLUTE_PATH A_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.hsaco)
  string(REPLACE ";" "$<SEMICOLON>" options "${A_OPTIONS}")
  fade_device_library_flags(${A_ARCH} "${A_FLAGS}" libraries)
  fade_hip_headers(headers ${A_ARCH} "${A_FLAGS}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E env "FADE_INSTRUMENT=${options}" ${FADE_HIP_CLANG} ${FADE_HIP_FLAGS}
            --offload-arch=${A_ARCH} --offload-device-only --no-gpu-bundle-output -std=c++17
            -gline-tables-only ${libraries} ${A_FLAGS} -fpass-plugin=$<TARGET_FILE:fadeinstr-19> ${headers} ${A_SOURCE}
            -o ${out} -MD -MF ${out}.d
    DEPENDS ${A_SOURCE} fadeinstr-19 ${headers_DEPENDS} DEPFILE ${out}.d COMMENT "instrumented ${name}" VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY FADE_OBJECTS ${out})
endfunction()

# fade_instrumented_code(name LANGUAGE ir|cl SOURCE file ARCH arch [FLAGS ...]): the same from IR or OpenCL C. In the source, @arch@
# stands for the architecture.
function(fade_instrumented_code name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "LANGUAGE;SOURCE;ARCH" "FLAGS")
  set(arch ${A_ARCH})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.${A_LANGUAGE})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.hsaco)
  configure_file(${A_SOURCE} ${source} @ONLY)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E env FADE_INSTRUMENT= ${FADE_HIP_CLANG} -x ${A_LANGUAGE} --target=amdgcn-amd-amdhsa
            -mcpu=${A_ARCH} -mcode-object-version=${FADE_CODE_OBJECT_VERSION} -Wno-unused-command-line-argument ${A_FLAGS}
            -fpass-plugin=$<TARGET_FILE:fadeinstr-19> ${source} -o ${out}
    DEPENDS ${source} fadeinstr-19 COMMENT "instrumented ${name}" VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY FADE_OBJECTS ${out})
endfunction()
