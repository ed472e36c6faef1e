# SPDX-License-Identifier: Apache-2.0
# cushim_discover_tests(<program> [GPUS <count>]): makes tests of CTest of a program that links
# cushim::testing, each test of it twice:
#   sim.<test>   label sim: on the simulated driver
#   gpu.<test>   label gpu, with GPUS above 1 multi-gpu too: on the machine's own driver, and red on any
#                other. Only with CUSHIM_TEST_GPU, so that `ctest -L gpu --no-tests=error` without is red.
# A test whose needs are not met is skipped. With CTest's resource file a gpu test is given so many devices
# of its own, as the resource gpus.
include_guard(GLOBAL)
include(GoogleTest)

set(gpu_default OFF)
if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg OR EXISTS /dev/nvmap)
  set(gpu_default ON)
endif()
option(CUSHIM_TEST_GPU "Make tests of CTest for the NVIDIA GPU of this machine" ${gpu_default})
unset(gpu_default)

function(cushim_discover_tests program)
  cmake_parse_arguments(PARSE_ARGV 1 discover "" "GPUS" "")
  if(discover_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cushim_discover_tests: unknown arguments ${discover_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT discover_GPUS)
    set(discover_GPUS 1)
  endif()
  gtest_discover_tests(${program} TEST_PREFIX sim. TEST_LIST ${program}_sim EXTRA_ARGS --driver=sim
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS sim SKIP_REGULAR_EXPRESSION "cushim-skip: ")
  if(CUSHIM_TEST_GPU)
    set(labels gpu)
    if(discover_GPUS GREATER 1)
      set(labels "gpu\\;multi-gpu")
    endif()
    gtest_discover_tests(${program} TEST_PREFIX gpu. TEST_LIST ${program}_gpu EXTRA_ARGS --driver=real
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${labels}" SKIP_REGULAR_EXPRESSION "cushim-skip: "
        ENVIRONMENT CUSHIM_TEST_LABEL=gpu RESOURCE_GROUPS "${discover_GPUS},gpus:1")
  endif()
endfunction()
