# SPDX-License-Identifier: Apache-2.0
# Without CUDA headers the build's error names the two settings that select them.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

# All searches are below an empty directory, which hides this machine's toolkits.
file(MAKE_DIRECTORY ${WORK}/nothing)
configure_command(${SOURCE} ${WORK}/build
  -DCMAKE_FIND_ROOT_PATH=${WORK}/nothing -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "configured without CUDA headers:\n${output}")
endif()
foreach(name CUSHIM_CUDA_INCLUDE_DIR CUDAToolkit)
  if(NOT output MATCHES "CMake Error.*cushim: no CUDA headers.*${name}")
    message(FATAL_ERROR "the error does not name ${name}:\n${output}")
  endif()
endforeach()

# A directory without cuda.h is rejected by name, and not replaced by another.
configure_command(${SOURCE} ${WORK}/build -DCUSHIM_CUDA_INCLUDE_DIR=${WORK}/nothing)
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "CMake Error.*CUSHIM_CUDA_INCLUDE_DIR.*has no")
  message(FATAL_ERROR "a folder without cuda.h was not refused:\n${output}")
endif()
