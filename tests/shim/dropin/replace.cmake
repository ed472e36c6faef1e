# SPDX-License-Identifier: Apache-2.0
# cushim_replace_cuda_driver() in a separate project. STUB is the library that the toolkit's target names;
# ORDER says which call comes first. The program needs that library without the function, and does not need it
# with the function.
include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/common.cmake)
configure(${CMAKE_CURRENT_LIST_DIR}/replace ${WORK}/build
  -DCUSHIM_SOURCE_DIR=${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS}
  -DSTUB=${STUB} -DORDER=${ORDER} -DPROGRAM=${CMAKE_CURRENT_LIST_DIR}/program.c)
run(${CMAKE_COMMAND} --build ${WORK}/build --target third_party)
set(ENV{CUSHIM_LIBRARY} none)
execute_process(COMMAND ${WORK}/build/third_party OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${READELF} -d ${WORK}/build/third_party OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
get_filename_component(stub ${STUB} NAME)
string(FIND "${dynamic}" "${stub}" needs_stub)
if(ORDER STREQUAL "no_replacement")
  if(needs_stub EQUAL -1 OR NOT output MATCHES "cuInit 103")
    message(FATAL_ERROR "the toolkit's library is not linked, so nothing is shown here:\n${output}${dynamic}")
  endif()
elseif(NOT needs_stub EQUAL -1 OR NOT output MATCHES "cuInit 303")
  message(FATAL_ERROR "CUDA::cuda_driver was not replaced:\n${output}${dynamic}")
endif()
