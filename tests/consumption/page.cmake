# SPDX-License-Identifier: Apache-2.0
# Each C++ block of a page (PAGE) is a whole program: linked to LIBRARY it builds, and runs without a GPU as
# with one.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

file(READ ${SOURCE}/${PAGE} rest)
set(programs "")
while(rest MATCHES "```cpp\n")
  string(FIND "${rest}" "```cpp\n" start)
  math(EXPR start "${start} + 7")
  string(SUBSTRING "${rest}" ${start} -1 rest)
  string(FIND "${rest}" "```" end)
  string(SUBSTRING "${rest}" 0 ${end} program)
  string(SUBSTRING "${rest}" ${end} -1 rest)
  list(LENGTH programs number)
  file(WRITE ${WORK}/programs/program_${number}.cpp "${program}")
  list(APPEND programs ${WORK}/programs/program_${number}.cpp)
endwhile()
if(NOT programs)
  message(FATAL_ERROR "${PAGE} shows no program")
endif()

configure(${CMAKE_CURRENT_LIST_DIR}/subdirectory ${WORK}/build
  -DCUSHIM_SOURCE_DIR=${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DPROGRAMS=${WORK}/programs -DLIBRARY=${LIBRARY})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program IN LISTS programs)
  get_filename_component(name ${program} NAME_WE)
  run(${WORK}/build/${name})
  run(${CMAKE_COMMAND} -E env CUSHIM_LIBRARY=none ${WORK}/build/${name})
endforeach()
