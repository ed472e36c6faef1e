# SPDX-License-Identifier: Apache-2.0
# cushim, installed as a static or (SHARED) a shared library, works when found by CMake and by pkg-config.
# Only cushim's own files are installed.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

configure(${SOURCE} ${WORK}/build -DBUILD_SHARED_LIBS=${SHARED} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS}
  -DCUSHIM_BUILD_TOOLS=OFF -DCUSHIM_BUILD_MOCK=OFF -DCUSHIM_BUILD_TESTS=OFF -DCUSHIM_BUILD_EXAMPLES=OFF
  -DCMAKE_INSTALL_PREFIX=${WORK}/elsewhere -DCMAKE_INSTALL_LIBDIR=lib)
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(component runtime dev)
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/installed --component ${component})
endforeach()

# The list of installed files is complete.
file(GLOB_RECURSE installed RELATIVE ${WORK}/installed LIST_DIRECTORIES false ${WORK}/installed/*)
file(GLOB_RECURSE headers RELATIVE ${SOURCE} ${SOURCE}/include/*)
set(expected ${headers}
  lib/cmake/cushim/CudaHeaders.cmake
  lib/cmake/cushim/ReplaceCudaDriver.cmake
  lib/cmake/cushim/cushim-config-version.cmake
  lib/cmake/cushim/cushim-config.cmake
  lib/cmake/cushim/cushim-targets-debug.cmake
  lib/cmake/cushim/cushim-targets.cmake
  lib/libcushim_cuda_driver.a
  lib/pkgconfig/cushim-cuda-driver.pc
  lib/pkgconfig/cushim.pc
  share/doc/cushim/LICENSE)
if(SHARED)
  list(APPEND expected lib/libcushim.so lib/libcushim.so.${VERSION_MAJOR} lib/libcushim.so.${VERSION})
else()
  list(APPEND expected lib/libcushim.a)
endif()
list(SORT installed)
list(SORT expected)
if(NOT installed STREQUAL expected)
  message(FATAL_ERROR "installed: ${installed}\nexpected:  ${expected}")
endif()
# Each file states cushim's licence.
foreach(file IN LISTS headers)
  file(READ ${WORK}/installed/${file} text)
  if(NOT text MATCHES "SPDX-License-Identifier: Apache-2.0" OR text MATCHES "NVIDIA Corporation")
    message(FATAL_ERROR "${file} is not cushim's own")
  endif()
endforeach()

# Found by CMake; a C project needs no C++ compiler.
configure(${CMAKE_CURRENT_LIST_DIR}/package ${WORK}/package
  -DCMAKE_PREFIX_PATH=${WORK}/installed -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/package)
run_programs(${WORK}/package)
configure(${CMAKE_CURRENT_LIST_DIR}/package ${WORK}/package_c -DWITH_CXX=OFF
  -DCMAKE_PREFIX_PATH=${WORK}/installed -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/package_c)

# Not found without CUDA headers; the error names the settings that select them.
file(MAKE_DIRECTORY ${WORK}/nothing)
configure_command(${CMAKE_CURRENT_LIST_DIR}/package ${WORK}/package_without_headers
  -DCMAKE_PREFIX_PATH=${WORK}/installed
  -DCMAKE_FIND_ROOT_PATH=${WORK}/nothing -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "CUSHIM_CUDA_INCLUDE_DIR.*CUDAToolkit")
  message(FATAL_ERROR "without CUDA headers find_package(cushim) said:\n${output}")
endif()

# Found by pkg-config.
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/installed/lib/pkgconfig)
  set(kind "")
  if(NOT SHARED)
    set(kind --static)
  endif()
  foreach(package cushim cushim-cuda-driver)
    execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${kind} ${package}
      OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    set(source program.c)
    if(package STREQUAL "cushim-cuda-driver")
      set(source unmodified.c)
    endif()
    run(${C} -isystem ${HEADERS} ${CMAKE_CURRENT_LIST_DIR}/${source} ${flags} -o ${WORK}/${package}_program)
    run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/installed/lib ${WORK}/${package}_program)
  endforeach()
endif()
