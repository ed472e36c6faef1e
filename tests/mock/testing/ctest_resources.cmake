# SPDX-License-Identifier: Apache-2.0
# With the file that `cushim ctest-resources` (COMMAND) writes for a machine of four GPUs, CTest runs four
# tests at once and each sees a different GPU; a test of two GPUs sees two.
include(${CMAKE_CURRENT_LIST_DIR}/ctest.cmake)
set(ENV{CUSHIM_DEVICES} h200x4)
set(file ${WORK}/resources.json)
function(make_file)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CUSHIM_LIBRARY=${SIM}/libcuda.so.1
    ${COMMAND} ctest-resources --output ${file} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
# Each test takes GPUs, although the driver is simulated.
function(take groups)
  add_tests(sim DEVICES $ENV{CUSHIM_DEVICES} PROPERTIES RESOURCE_GROUPS ${groups})
endfunction()

function(meet)
  # The folder's random name is also the name of the tests' semaphores.
  string(RANDOM LENGTH 12 name)
  set(ENV{PROGRAM_MEETING} ${WORK}/cushim_meeting_${name})
  file(MAKE_DIRECTORY $ENV{PROGRAM_MEETING})
  ctest(-R Meeting -j 8 --resource-spec-file ${file} --no-tests=error --output-on-failure)
  if(NOT code EQUAL 0 OR NOT output MATCHES "100% tests passed, 0 tests failed out of 4")
    message(FATAL_ERROR "four tests on four GPUs failed:\n${output}")
  endif()
endfunction()
make_file()
take(1,gpus:1)
meet()

# Indices count within the visible devices.
set(ENV{CUSHIM_DEVICES} h200x8)
take(1,gpus:1)
set(ENV{CUDA_VISIBLE_DEVICES} 7,5,3,1)
make_file()
meet()

take(2,gpus:1)
ctest(-R Two.Devices_are_two --resource-spec-file ${file} --no-tests=error --output-on-failure)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "a test of two GPUs does not see two:\n${output}")
endif()
# With fewer devices than the file names, the test fails with a message.
set(ENV{CUDA_VISIBLE_DEVICES} "")
ctest(-R Two.Devices_are_two --resource-spec-file ${file} --output-on-failure)
if(code EQUAL 0 OR NOT output MATCHES "write the resource file again")
  message(FATAL_ERROR "a resource file of another machine is not noticed:\n${output}")
endif()
unset(ENV{CUDA_VISIBLE_DEVICES})

# With one GPU of two slots, CTest would give a test of two GPUs the same one twice.
set(ENV{CUSHIM_DEVICES} h200)
make_file(--slots 2)
take(2,gpus:1)
ctest(-R Two.Devices_are_two --resource-spec-file ${file} --output-on-failure)
if(code EQUAL 0 OR NOT output MATCHES "GPU 0 twice")
  message(FATAL_ERROR "a GPU that is allotted twice is not noticed:\n${output}")
endif()
