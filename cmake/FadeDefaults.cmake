# Compiler settings shared by all of FADE's own targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Line tables are enough for backtraces, and make a build much quicker than whole types do.
set(line_tables -g1)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(line_tables -gline-tables-only)
endif()
string(REGEX REPLACE " -g( |$)" " ${line_tables} " CMAKE_CXX_FLAGS_RELWITHDEBINFO " ${CMAKE_CXX_FLAGS_RELWITHDEBINFO} ")

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(FADE_SANITIZE "" CACHE STRING "sanitizers for all of FADE: address,undefined or thread")
set(FADE_IS_SANITIZED 0)
if(FADE_SANITIZE)
  set(FADE_IS_SANITIZED 1)
  add_compile_options(-fsanitize=${FADE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FADE_SANITIZE})
  if(FADE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# The tests are built with it: another compiler warns of other things, and that is no reason not to build.
option(FADE_WERROR "warnings in FADE's own code are errors" OFF)

# fade_target(name): the warnings of our own code.
function(fade_target name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${FADE_WERROR}>:-Werror>)
endfunction()

# fade_precompiled(name [LIBS ...] HEADERS ...): what nearly every file of some libraries includes, compiled once, for
# target_precompile_headers(library REUSE_FROM name). They must be compiled with the same options.
function(fade_precompiled name)
  cmake_parse_arguments(A "" "" "LIBS;HEADERS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/headers.cpp)
  fade_target(${name})
  target_link_libraries(${name} PRIVATE ${A_LIBS})
  target_precompile_headers(${name} PRIVATE ${A_HEADERS})
endfunction()

# fade_embeds(source files...): a source file puts the contents of others into the program (.incbin). It is compiled anew with
# them, also where a compiler cache looks only at what is included: that is a digest of them.
function(fade_embeds source)
  get_filename_component(name ${source} NAME_WE)
  set(digest ${CMAKE_CURRENT_BINARY_DIR}/${name}_digest.h)
  string(REPLACE ";" "$<SEMICOLON>" files "${ARGN}")
  add_custom_command(OUTPUT ${digest}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DDIGEST=${digest} -P ${PROJECT_SOURCE_DIR}/cmake/digest.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/digest.cmake COMMENT "digest of what is in ${name}" VERBATIM)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN};${digest}" COMPILE_OPTIONS "-include;${digest}"
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

option(FADE_QUICK_BUILD "most of the host's runtime, of the analyzers and fadeprobe, and the pass for other LLVMs than the preferred one, without optimization" OFF)
set(FADE_SIM_OPTIMIZATION -O3 CACHE STRING "how the software GPU is optimized")
option(FADE_LONG_TESTS "also tests that take long and seldom fail alone, and long series in all builds" OFF)
option(FADE_SANITIZED_TESTS_ONLY "build only tests for sanitizers: label threads with TSan, else label sanitize" OFF)
option(FADE_UNSANITIZED_TESTS_ONLY "leave out the test programs that builds with sanitizers run" OFF)

set(FADE_SANITIZE_LONG) # the label of what sanitizers have seen often enough without finding anything: only with the long tests
set(FADE_THREADS_LONG)
if(FADE_LONG_TESTS)
  set(FADE_SANITIZE_LONG sanitize)
  set(FADE_THREADS_LONG threads)
endif()

set(FADE_PROGRAMS_OF "" CACHE PATH "ordinary build whose code objects and programs are used, for builds with sanitizers")

add_custom_target(fade_tests) # all test programs and what they load

# fade_test_library(name): what test programs share; compiled more often than it runs, as they are.
function(fade_test_library name)
  fade_target(${name})
  # As programs are compiled, for whom the headers were.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -O0 -fPIE)
  target_link_libraries(${name} PUBLIC GTest::gtest)
  target_precompile_headers(${name} REUSE_FROM fade_test_headers)
endfunction()

# fade_test(name SOURCES ... [LIBS ...] [DEFINITIONS ...] [OPTIONS ...] [DEPENDS ...] [ENV ...] [LABELS ...] [SHARDS n] [THREADED pattern]):
# a GoogleTest program, as one test of ctest or n of them, because each start costs time; scripts/test counts each TEST.
# Programs with the label "sanitize" are run with ASan and UBSan by scripts/test, those with the label "threads" with TSan (of these
# only the tests that THREADED names, if it is there), all others by the ordinary build.
function(fade_test name)
  cmake_parse_arguments(A "" "SHARDS;THREADED" "SOURCES;LIBS;DEFINITIONS;OPTIONS;DEPENDS;ENV;LABELS" ${ARGN})
  set(wanted sanitize)
  if(FADE_SANITIZE MATCHES thread)
    set(wanted threads)
  endif()
  if(FADE_SANITIZED_TESTS_ONLY AND NOT wanted IN_LIST A_LABELS)
    return()
  endif()
  if(FADE_UNSANITIZED_TESTS_ONLY AND (sanitize IN_LIST A_LABELS OR threads IN_LIST A_LABELS))
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  fade_target(${name})
  target_link_libraries(${name} PRIVATE ${A_LIBS} GTest::gtest_main fade_test_watchdog)
  target_compile_definitions(${name} PRIVATE ${A_DEFINITIONS}
    FADE_LONG_TESTS=$<BOOL:${FADE_LONG_TESTS}> FADE_TESTS_ARE_SANITIZED=${FADE_IS_SANITIZED})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # Tests are compiled more often than they run.
  target_compile_options(${name} PRIVATE -O0 ${A_OPTIONS})
  if(NOT "${A_OPTIONS}" MATCHES "-O") # these are compiled without optimisation, too
    target_precompile_headers(${name} REUSE_FROM fade_test_headers)
  endif()
  add_dependencies(fade_tests ${name})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  if(A_THREADED AND wanted STREQUAL threads AND NOT FADE_LONG_TESTS)
    list(APPEND A_ENV GTEST_FILTER=${A_THREADED})
  endif()
  if(NOT A_SHARDS)
    set(A_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${A_SHARDS})
    set(test ${name})
    if(A_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1)
    # Whole programs of tests begin before single ones, or the last of them runs alone.
    set_tests_properties(${test} PROPERTIES LABELS "${A_LABELS}" TIMEOUT 900 COST 20
      ENVIRONMENT "${A_ENV};GTEST_TOTAL_SHARDS=${A_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
