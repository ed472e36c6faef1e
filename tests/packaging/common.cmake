# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)  # sets the policies of the scripts
# Shared by the scripts of this directory, which ctest runs with
#   SOURCE   cushim's sources              WORK   an empty directory for the test
#   HEADERS  the directory of <cuda.h>     C, CXX, LAUNCHER, GENERATOR, READELF   the tools in use
set(ENV{CUDA_PATH} "")
set(ENV{CUDA_HOME} "")
set(ENV{CUDAToolkit_ROOT} "")
set(ENV{CMAKE_C_COMPILER_LAUNCHER} "${LAUNCHER}")
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${LAUNCHER}")
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(<command>...): if the command fails, fails the test with its output
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " words)
    message(FATAL_ERROR "${words}\nended with ${code}:\n${output}")
  endif()
endfunction()

# configure(<source> <build> <option>...)
macro(configure_command source build)
  set(command ${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR}
    -DCMAKE_C_COMPILER=${C} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_C_FLAGS_DEBUG=-g1 -DCMAKE_CXX_FLAGS_DEBUG=-g1 ${ARGN})
endmacro()
function(configure source build)
  configure_command(${source} ${build} ${ARGN})
  run(${command})
endfunction()
# configure_like_cushim(<source> <option>...): configures in BESIDE, with the options of cushim's own build
function(configure_like_cushim source)
  file(REMOVE_RECURSE ${BESIDE})
  string(TOUPPER "${BUILD_TYPE}" type)
  configure_command(${source} ${BESIDE} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_C_FLAGS_${type}=${FLAGS}"
    "-DCMAKE_CXX_FLAGS_${type}=${FLAGS}" -DCUSHIM_WERROR=${WERROR} -DCUSHIM_COMPILE_IN_UNITS=${IN_UNITS} ${ARGN})
  run(${command})
endfunction()

# run_programs(<build>): runs the user's programs. Checks that they do not link the driver, and that the C
# programs do not link the C++ library.
function(run_programs build)
  foreach(program c_program cxx_program unmodified)
    run(${build}/${program})
    execute_process(COMMAND ${READELF} -d ${build}/${program} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
    if(dynamic MATCHES "libcuda" OR (NOT program STREQUAL "cxx_program" AND dynamic MATCHES "libstdc|libc\\+\\+"))
      message(FATAL_ERROR "${program} needs a library that it should not:\n${dynamic}")
    endif()
  endforeach()
endfunction()
