# SPDX-License-Identifier: Apache-2.0
# cushim's sources inside a user's project.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
configure(${CMAKE_CURRENT_LIST_DIR}/subdirectory ${WORK}/build
  -DCUSHIM_SOURCE_DIR=${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run_programs(${WORK}/build)
