# SPDX-License-Identifier: Apache-2.0
# Precompiles the headers that most tests include, once for all test programs: parsing them takes longer than
# compiling a test. clang-tidy reads the tests without them (CMAKE_DISABLE_PRECOMPILE_HEADERS), so that each file
# still includes the headers that it uses.

include(Targets)

file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp" "")
add_library(cushim_test_headers OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
target_link_libraries(cushim_test_headers PRIVATE cushim::cushim GTest::gmock cushim_warnings)
set(headers algorithm array atomic cushim/cushim.hpp cushim/error.hpp filesystem fstream functional gmock/gmock.h
  gtest/gtest.h map memory optional set sstream stdexcept string thread vector)
list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1>>")
target_precompile_headers(cushim_test_headers PRIVATE ${headers})

# The C++ programs that link GoogleTest.
cushim_find_targets(targets "${CMAKE_CURRENT_SOURCE_DIR}")
foreach(program IN LISTS targets)
  get_target_property(type ${program} TYPE)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  get_target_property(sources ${program} SOURCES)
  if(NOT type STREQUAL "EXECUTABLE" OR sources MATCHES "\\.c(;|$)" OR NOT libraries MATCHES "GTest::|cushim::(mock|testing)")
    continue()
  endif()
  target_precompile_headers(${program} REUSE_FROM cushim_test_headers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${program} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # needed by ccache
  endif()
endforeach()
