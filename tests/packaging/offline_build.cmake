# SPDX-License-Identifier: Apache-2.0
# With system packages only, all of cushim configures, and the library and its command build without a
# network. ctest runs this in a separate network namespace.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

file(READ /proc/net/route routes)
string(REGEX MATCHALL "\n[^\n]" lines "${routes}")
if(lines)
  message(FATAL_ERROR "this must run without a network, and there is one:\n${routes}")
endif()

configure_like_cushim(${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${BESIDE} --target cushim cushim-command)
