# SPDX-License-Identifier: Apache-2.0
# A user's project fetches cushim as an archive with FetchContent; the archive needs only the library's
# directories.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${WORK}/cushim.tar.gz
    CMakeLists.txt LICENSE cmake include shim
  WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 ${WORK}/cushim.tar.gz hash)
configure(${CMAKE_CURRENT_LIST_DIR}/fetch_content ${WORK}/build
  -DARCHIVE=file://${WORK}/cushim.tar.gz -DARCHIVE_HASH=SHA256=${hash} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run_programs(${WORK}/build)
