# SPDX-License-Identifier: Apache-2.0
# cushim_add_tests(<program> [TEST_PREFIX <prefix>] [PROPERTIES <name> <value>...]): adds the tests of a GoogleTest
# program to CTest after it was built. Without a sanitizer each test runs in a process of its own. With one, all tests
# of a suite share a process: a process with AddressSanitizer takes 0.1 s to start and to look for leaks.
#
# As a script (cmake -P) it writes the file that CTest reads, from these variables: PROGRAM, FILE, FOLDER (working
# directory of the tests), PREFIX, PROPERTIES.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  execute_process(COMMAND "${PROGRAM}" --gtest_list_tests TIMEOUT 60 RESULT_VARIABLE code OUTPUT_VARIABLE output)
  # A suite begins a line with its name and a point; its tests are indented.
  string(REGEX MATCHALL "\n[A-Za-z][^\n. ]*\\." suites "\n${output}")
  if(NOT code EQUAL 0 OR NOT suites)
    message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${code}:\n${output}")
  endif()
  set(text "")
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "^\n(.*)\\.$" "\\1" suite "${suite}")
    set(name "[==[${PREFIX}${suite}]==]")
    string(APPEND text "add_test(${name} [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*]==])\n"
      "set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY [==[${FOLDER}]==] ${PROPERTIES} TIMEOUT 600)\n")
  endforeach()
  file(WRITE "${FILE}" "${text}")
  return()
endif()

include(DiscoverTests)  # cushim_read_tests()
include(GoogleTest)

function(cushim_add_tests program)
  cmake_parse_arguments(PARSE_ARGV 1 add "" "TEST_PREFIX" "PROPERTIES")
  if(add_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cushim_add_tests: unknown: ${add_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT CUSHIM_SANITIZE)
    gtest_discover_tests(${program} TEST_PREFIX "${add_TEST_PREFIX}" DISCOVERY_TIMEOUT 60 PROPERTIES ${add_PROPERTIES})
    return()
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake")
  set(properties "")
  foreach(word IN LISTS add_PROPERTIES)
    string(APPEND properties " [==[${word}]==]")
  endforeach()
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS "${file}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DFILE=${file}" "-DPREFIX=${add_TEST_PREFIX}"
      "-DFOLDER=${CMAKE_CURRENT_BINARY_DIR}" "-DPROPERTIES=${properties}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}")
  cushim_read_tests(${program} "${file}")
endfunction()
