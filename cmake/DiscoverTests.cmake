# SPDX-License-Identifier: Apache-2.0
# cushim_discover_tests(<program> [UNIT] [GPUS <count>] [DEVICES <devices>] [PROPERTIES <name> <value>...])
# adds each test of a program that links cushim::testing to CTest twice:
#   sim.<test>   label sim: on the simulated driver
#   gpu.<test>   label gpu, and multi-gpu if it needs several: on the installed driver; fails on any other.
#                Only with CUSHIM_TEST_GPU; without it `ctest -L gpu --no-tests=error` fails.
# CUSHIM_NEEDS in a test states its requirements; the test is skipped if they are not met. With a resource
# specification file (`cushim ctest-resources`) a gpu test gets exclusive use of the devices that it needs.
#   UNIT         adds each test once, as unit.<test> with the label unit, without a driver except those that
#                the tests create
#   GPUS         minimum number of devices for every test, in addition to CUSHIM_NEEDS
#   DEVICES      of the simulated driver, "h200x2"; default: its default device, or one h200 for each device
#                that the test needs
#   PROPERTIES   CTest properties of each test; properties that this function sets take precedence
include_guard(GLOBAL)

set(gpu_default OFF)
if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg OR EXISTS /dev/nvmap)
  set(gpu_default ON)
endif()
option(CUSHIM_TEST_GPU "Make tests of CTest for the NVIDIA GPU of this machine" ${gpu_default})
unset(gpu_default)

# cushim_read_tests(<program> <file>): lets CTest read the tests of a program from a file that its build writes. Until
# then CTest has one test, which fails.
function(cushim_read_tests program file)
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake")
  file(WRITE "${include}" "\
if(EXISTS [==[${file}]==])
  include([==[${file}]==])
else()
  add_test([==[${program}_was_not_built]==] [==[${program}_was_not_built]==])
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

function(cushim_discover_tests program)
  cmake_parse_arguments(PARSE_ARGV 1 discover "UNIT" "GPUS;DEVICES" "PROPERTIES")
  if(discover_UNPARSED_ARGUMENTS OR discover_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "cushim_discover_tests: unknown, or without a value: \
${discover_UNPARSED_ARGUMENTS}${discover_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT discover_GPUS)
    set(discover_GPUS 1)
  endif()
  set(kinds sim)
  if(discover_UNIT)
    set(kinds unit)
  elseif(CUSHIM_TEST_GPU)
    list(APPEND kinds gpu)
  endif()
  # The list of tests is available only after the program is built.
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${program}_tests.cmake")
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS "${file}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DFILE=${file}" "-DKINDS=${kinds}"
      "-DGPUS=${discover_GPUS}" "-DDEVICES=${discover_DEVICES}" "-DPROPERTIES=${discover_PROPERTIES}"
      "-DFOLDER=${CMAKE_CURRENT_BINARY_DIR}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/AddTests.cmake")
  cushim_read_tests(${program} "${file}")
endfunction()
