# SPDX-License-Identifier: Apache-2.0
# Common part of the scripts of this folder. ctest runs each script with
#   PROGRAM   a program of cushim::testing       ADD_TESTS   the script that adds its tests to CTest
#   WORK      an empty folder for the test         SIM         the simulated libcuda.so.1's folder, or empty
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
foreach(variable CUSHIM_LIBRARY CUSHIM_DEVICES CUSHIM_TEST_HAS CUDA_VISIBLE_DEVICES)
  unset(ENV{${variable}})
endforeach()

# add_tests(<kinds> [GPUS <count>] [DEVICES <devices>] [PROPERTIES <name> <value>...]): adds the program's
# tests to the folder, as a build with cushim_discover_tests() of these arguments does.
function(add_tests kinds)
  cmake_parse_arguments(PARSE_ARGV 1 add "" "GPUS;DEVICES" "PROPERTIES")
  if(NOT add_GPUS)
    set(add_GPUS 1)
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -DPROGRAM=${PROGRAM} -DFILE=${WORK}/CTestTestfile.cmake "-DKINDS=${kinds}"
    -DGPUS=${add_GPUS} -DDEVICES=${add_DEVICES} "-DPROPERTIES=${add_PROPERTIES}" -DFOLDER=${WORK} -P ${ADD_TESTS}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# ctest(<argument>...): runs ctest; sets `code` and `output`.
function(ctest)
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK} ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(code ${code} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()
