# SPDX-License-Identifier: Apache-2.0
# cushim_replace_cuda_driver() makes every target that links CUDA::cuda_driver link cushim::cuda_driver
# instead, which needs neither libcuda.so nor its stub. Call it before or after find_package(CUDAToolkit), in
# the project's top directory, before other directories use the targets that link CUDA::cuda_driver.
include_guard(GLOBAL)

function(cushim_replace_cuda_driver)
  if(NOT TARGET cushim::cuda_driver)
    message(FATAL_ERROR "cushim_replace_cuda_driver: there is no target cushim::cuda_driver")
  endif()
  if(NOT TARGET CUDA::cuda_driver)
    # CMake's FindCUDAToolkit keeps an existing target.
    add_library(CUDA::cuda_driver INTERFACE IMPORTED GLOBAL)
  else()
    get_target_property(type CUDA::cuda_driver TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      # An imported library must have a file: use an empty archive.
      set(nothing "${CMAKE_BINARY_DIR}/cushim/libnothing.a")
      file(WRITE "${nothing}" "!<arch>\n")
      set_target_properties(CUDA::cuda_driver PROPERTIES IMPORTED_LOCATION "${nothing}")
      foreach(configuration NONE DEBUG RELEASE RELWITHDEBINFO MINSIZEREL)
        set_property(TARGET CUDA::cuda_driver PROPERTY IMPORTED_LOCATION_${configuration})
      endforeach()
    endif()
  endif()
  set_target_properties(CUDA::cuda_driver PROPERTIES INTERFACE_LINK_LIBRARIES cushim::cuda_driver)
endfunction()
