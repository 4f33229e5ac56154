# Code objects of FADE's own for every GPU that a clang knows, and for families of GPUs (generic targets) that serve those it does not know.

# fade_clang_newer(PROCESSOR CLANG RESULT): what has to be in front of a compile command for a GPU that this clang does not know; else nothing.
set(fade_clang_newer ${CMAKE_CURRENT_LIST_DIR}/clang-newer)
execute_process(COMMAND ${fade_clang_newer} --list OUTPUT_VARIABLE fade_newer_processors COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "gfx[0-9a-f]+ gfx[0-9a-f]+" fade_newer_processors "${fade_newer_processors}")
function(fade_clang_newer processor clang result)
  set(${result} PARENT_SCOPE)
  if("${fade_newer_processors}" MATCHES "(^|;)${processor} ")
    execute_process(COMMAND ${clang} --target=amdgcn-amd-amdhsa -mcpu=${processor} -nogpulib -x c -fsyntax-only /dev/null
                    RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    if(NOT code EQUAL 0)
      set(${result} ${fade_clang_newer} ${processor} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# fade_processors_of(CLANG RESULT): from gfx900 on, as the compiler lists them, and those that clang-newer has it compile for.
function(fade_processors_of clang result)
  execute_process(COMMAND ${clang} --target=amdgcn-amd-amdhsa -nogpulib --print-supported-cpus OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX MATCHALL "gfx(9|1[0-9])[0-9a-z-]+" processors "${text}")
  list(REMOVE_DUPLICATES processors)
  if(NOT processors)
    message(FATAL_ERROR "${clang} has no AMD GPU among its targets")
  endif()
  foreach(pair ${fade_newer_processors})
    string(REPLACE " " ";" pair "${pair}")
    list(GET pair 0 processor)
    list(GET pair 1 relative)
    if(relative IN_LIST processors AND NOT processor IN_LIST processors)
      list(APPEND processors ${processor})
    endif()
  endforeach()
  set(${result} ${processors} PARENT_SCOPE)
endfunction()

# fade_code_object_version(PROCESSOR RESULT): the oldest that the processor can have, for runtimes that know no newer one.
function(fade_code_object_version processor result)
  if(processor MATCHES "generic")
    set(${result} 6 PARENT_SCOPE)
  else()
    set(${result} 4 PARENT_SCOPE)
  endif()
endfunction()
