# SPDX-License-Identifier: Apache-2.0
# With system packages alone, all of cushim configures and the library and its command build where
# there is no network. ctest runs this in a network namespace of its own.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

file(READ /proc/net/route routes)
string(REGEX MATCHALL "\n[^\n]" lines "${routes}")
if(lines)
  message(FATAL_ERROR "this must run without a network, and there is one:\n${routes}")
endif()

configure(${SOURCE} ${WORK}/build -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/build --target cushim cushim-command)
