# HIP programs with instrumented twins of their kernels.
# fade_instrumented_executable(name SOURCE file.hip [MODES accesses blocks ...] [ARCHS ...] [FLAGS ...] [LIBS ...])
function(fade_instrumented_executable name)
  cmake_parse_arguments(A "" "SOURCE" "MODES;ARCHS;FLAGS;LIBS" ${ARGN})
  string(REPLACE ";" "$<SEMICOLON>" modes "${A_MODES}")
  set(version ${FADE_LLVM_PREFERRED})
  set(plugin ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libfadeinstr.so)
  if(FADE_HIP_PLUGIN)
    set(version ${FADE_HIP_PLUGIN})
    set(plugin ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libfadeinstr-${version}.so)
  endif()
  # The pass is told by a variable what to instrument.
  set(FADE_HIP_CLANG ${CMAKE_COMMAND} -E env "FADE_INSTRUMENT=${modes}" ${FADE_HIP_CLANG})
  fade_hip_executable(${name} SOURCE ${A_SOURCE} ARCHS ${A_ARCHS} LIBS ${A_LIBS}
    FLAGS -gline-tables-only -fpass-plugin=${plugin} ${A_FLAGS} DEPENDS fadeinstr-${version})
endfunction()
