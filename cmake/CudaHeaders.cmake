# SPDX-License-Identifier: Apache-2.0
# cushim::cuda_headers: the folder of <cuda.h>. CUSHIM_CUDA_INCLUDE_DIR if given, else an installed
# CUDA toolkit. Nothing is fetched here; tools/dev can put headers into the build folder.
set(CUSHIM_CUDA_INCLUDE_DIR "" CACHE PATH "Folder of cuda.h (CUDA 11.8 or newer)")

if(NOT TARGET cushim::cuda_headers)
  set(found "")
  if(CUSHIM_CUDA_INCLUDE_DIR)
    if(NOT EXISTS "${CUSHIM_CUDA_INCLUDE_DIR}/cuda.h")
      message(FATAL_ERROR "cushim: CUSHIM_CUDA_INCLUDE_DIR is ${CUSHIM_CUDA_INCLUDE_DIR}, which has no cuda.h.")
    endif()
    set(found "${CUSHIM_CUDA_INCLUDE_DIR}")
  else()
    # The toolkit's own find module would also want its libraries; headers are all that is needed.
    find_path(CUSHIM_TOOLKIT_INCLUDE_DIR cuda.h
      HINTS "${CUDAToolkit_ROOT}" ENV CUDAToolkit_ROOT ENV CUDA_PATH ENV CUDA_HOME
      PATHS /usr/local/cuda /opt/cuda
      PATH_SUFFIXES include targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include)
    mark_as_advanced(CUSHIM_TOOLKIT_INCLUDE_DIR)
    set(found "${CUSHIM_TOOLKIT_INCLUDE_DIR}")
  endif()
  if(NOT found)
    message(FATAL_ERROR
      "cushim: no CUDA headers found. Set CUSHIM_CUDA_INCLUDE_DIR to the folder of cuda.h, or "
      "CUDAToolkit_ROOT to an installed CUDA toolkit (11.8 or newer). Only headers are needed, no driver.")
  endif()
  message(STATUS "cushim: CUDA headers in ${found}")

  add_library(cushim_cuda_headers INTERFACE)
  add_library(cushim::cuda_headers ALIAS cushim_cuda_headers)
  set_target_properties(cushim_cuda_headers PROPERTIES EXPORT_NAME cuda_headers)
  # SYSTEM: their warnings are not ours. Not installed: a user's build finds its own.
  target_include_directories(cushim_cuda_headers SYSTEM INTERFACE "$<BUILD_INTERFACE:${found}>")
  set(CUSHIM_CUDA_HEADERS_FOUND "${found}" CACHE INTERNAL "the folder of cuda.h in use")
endif()
