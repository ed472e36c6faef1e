# SPDX-License-Identifier: Apache-2.0
# cushim::cuda_headers: the include directory of <cuda.h>. Uses CUSHIM_CUDA_INCLUDE_DIR if set, otherwise an
# installed CUDA toolkit. Downloads nothing; tools/dev can download headers into the build directory. Used by
# cushim's own build and, when installed, by find_package(cushim).
set(CUSHIM_CUDA_INCLUDE_DIR "" CACHE PATH "Folder of cuda.h (CUDA 11.8 or newer)")

if(NOT TARGET cushim::cuda_headers)
  set(found "")
  set(problem "")
  if(CUSHIM_CUDA_INCLUDE_DIR)
    set(found "${CUSHIM_CUDA_INCLUDE_DIR}")
    if(NOT EXISTS "${found}/cuda.h")
      set(problem "cushim: CUSHIM_CUDA_INCLUDE_DIR is ${found}, which has no cuda.h.")
    endif()
  else()
    # CMake's toolkit module would also require the toolkit's libraries; only headers are needed. Prefers a
    # toolkit that the project has already found.
    find_path(CUSHIM_TOOLKIT_INCLUDE_DIR cuda.h
      HINTS ${CUDAToolkit_INCLUDE_DIRS} "${CUDAToolkit_ROOT}"
            ENV CUDAToolkit_ROOT ENV CUDA_PATH ENV CUDA_HOME
      PATHS /usr/local/cuda /opt/cuda
      PATH_SUFFIXES include targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include)
    mark_as_advanced(CUSHIM_TOOLKIT_INCLUDE_DIR)
    set(found "${CUSHIM_TOOLKIT_INCLUDE_DIR}")
    if(NOT found)
      set(problem
        "cushim: no CUDA headers found. Set CUSHIM_CUDA_INCLUDE_DIR to the folder of cuda.h, or \
CUDAToolkit_ROOT to an installed CUDA toolkit (11.8 or newer). Only headers are needed, no driver.")
    endif()
  endif()
  if(problem)
    if(NOT CMAKE_FIND_PACKAGE_NAME STREQUAL "cushim")
      message(FATAL_ERROR "${problem}")
    endif()
    set(cushim_FOUND FALSE)
    set(cushim_NOT_FOUND_MESSAGE "${problem}")
    return()
  endif()
  message(STATUS "cushim: CUDA headers in ${found}")

  add_library(cushim_cuda_headers INTERFACE)
  add_library(cushim::cuda_headers ALIAS cushim_cuda_headers)
  # SYSTEM: suppresses warnings from CUDA headers. Not installed: a user's build finds its own headers.
  target_include_directories(cushim_cuda_headers SYSTEM INTERFACE "${found}")
  set(CUSHIM_CUDA_HEADERS_FOUND "${found}" CACHE INTERNAL "the folder of cuda.h in use")
endif()
