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

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(FADE_SANITIZE "" CACHE STRING "sanitizers for all of FADE: address,undefined or thread")
if(FADE_SANITIZE)
  add_compile_options(-fsanitize=${FADE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FADE_SANITIZE})
  if(FADE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# fade_target(name): warnings as errors for our own code.
function(fade_target name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wshadow -Werror)
endfunction()

option(FADE_SANITIZED_TESTS_ONLY "build and register only tests with the label sanitize" OFF)

# fade_test(name SOURCES ... [LIBS ...] [ENV ...] [LABELS ...]): a GoogleTest program; each TEST is one ctest test.
# Tests with the label "sanitize" also run in the builds with sanitizers.
function(fade_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS;ENV;LABELS" ${ARGN})
  if(FADE_SANITIZED_TESTS_ONLY AND NOT "sanitize" IN_LIST A_LABELS)
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  fade_target(${name})
  target_link_libraries(${name} PRIVATE ${A_LIBS} GTest::gtest_main)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES ENVIRONMENT "${A_ENV}" LABELS "${A_LABELS}" TIMEOUT 300)
endfunction()
