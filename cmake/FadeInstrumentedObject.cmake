# Code objects with instrumented twins, made by the plugin that was just built.
# fade_instrumented_object(name SOURCE file ARCH arch [OPTIONS text] [FLAGS ...]): name.hsaco in the binary directory,
# and its path in the directory's property FADE_OBJECTS.
function(fade_instrumented_object name)
  cmake_parse_arguments(A "" "SOURCE;ARCH;OPTIONS" "FLAGS" ${ARGN})
  cmake_path(ABSOLUTE_PATH A_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.hsaco)
  string(REPLACE ";" "$<SEMICOLON>" options "${A_OPTIONS}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E env "FADE_INSTRUMENT=${options}" ${FADE_HIP_CLANG} ${FADE_HIP_FLAGS}
            --offload-arch=${A_ARCH} --offload-device-only --no-gpu-bundle-output -std=c++17
            -gline-tables-only ${A_FLAGS} -fpass-plugin=$<TARGET_FILE:fadeinstr-19> ${A_SOURCE} -o ${out}
            -MD -MF ${out}.d
    DEPENDS ${A_SOURCE} fadeinstr-19 DEPFILE ${out}.d COMMENT "instrumented ${name}" VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY FADE_OBJECTS ${out})
endfunction()
