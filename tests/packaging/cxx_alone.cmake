# SPDX-License-Identifier: Apache-2.0
# A C++-only project in C++14 and in C++17, with cushim's sources or an installed one (INSTALLED: its prefix).
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
if(INSTALLED)
  set(from -DCMAKE_PREFIX_PATH=${INSTALLED})
else()
  set(from -DCUSHIM_SOURCE_DIR=${SOURCE})
endif()
configure(${CMAKE_CURRENT_LIST_DIR}/cxx_alone ${WORK}/build ${from} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program cuda_driver_14 cuda_driver_17 cushim_14 cushim_17)
  run(${WORK}/build/${program})
endforeach()
