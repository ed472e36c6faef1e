# SPDX-License-Identifier: Apache-2.0
# The same sources in two directories give byte-identical libraries, also with debug information.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(ENV{CCACHE_DISABLE} 1)  # both libraries must be compiled
set(libraries libcushim_cuda_driver.a)
if(SHARED)
  list(APPEND libraries libcushim.so.${VERSION})
else()
  list(APPEND libraries libcushim.a)
endif()
foreach(folder here somewhere/else)
  file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/LICENSE ${SOURCE}/cmake ${SOURCE}/include ${SOURCE}/shim
    DESTINATION ${WORK}/${folder}/sources)
  configure(${WORK}/${folder}/sources ${WORK}/${folder}/build -DBUILD_SHARED_LIBS=${SHARED}
    -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUSHIM_BUILD_MOCK=OFF
    -DCUSHIM_BUILD_TOOLS=OFF -DCUSHIM_BUILD_TESTS=OFF -DCUSHIM_BUILD_EXAMPLES=OFF
    -DCMAKE_INSTALL_PREFIX=${WORK}/${folder}/installed -DCMAKE_INSTALL_LIBDIR=lib)
  run(${CMAKE_COMMAND} --build ${WORK}/${folder}/build --target install)
endforeach()
foreach(library IN LISTS libraries)
  file(SHA256 ${WORK}/here/installed/lib/${library} one)
  file(SHA256 ${WORK}/somewhere/else/installed/lib/${library} other)
  if(NOT one STREQUAL other)
    message(FATAL_ERROR "${library} depends on the folder that it was built in")
  endif()
endforeach()
