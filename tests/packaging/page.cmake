# SPDX-License-Identifier: Apache-2.0
# Each C++ block of a page (PAGE) is a complete program: linked with LIBRARY it builds, and runs with and
# without a GPU.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/../CppBlocks.cmake)

cushim_cpp_blocks(programs ${SOURCE}/${PAGE} cpp ${WORK}/programs)

configure(${CMAKE_CURRENT_LIST_DIR}/subdirectory ${WORK}/build
  -DCUSHIM_SOURCE_DIR=${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DPROGRAMS=${WORK}/programs -DLIBRARY=${LIBRARY})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program IN LISTS programs)
  get_filename_component(name ${program} NAME_WE)
  run(${WORK}/build/${name})
  run(${CMAKE_COMMAND} -E env CUSHIM_LIBRARY=none ${WORK}/build/${name})
endforeach()
