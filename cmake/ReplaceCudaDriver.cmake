# SPDX-License-Identifier: Apache-2.0
# cushim_replace_cuda_driver(): from here on, whatever links CUDA::cuda_driver gets cushim::cuda_driver
# instead, and needs neither libcuda.so nor its stub. Call it before or after find_package(CUDAToolkit), in
# the project's top directory, before the targets that link CUDA::cuda_driver are used elsewhere.
include_guard(GLOBAL)

function(cushim_replace_cuda_driver)
  if(NOT TARGET cushim::cuda_driver)
    message(FATAL_ERROR "cushim_replace_cuda_driver: there is no target cushim::cuda_driver")
  endif()
  if(NOT TARGET CUDA::cuda_driver)
    # CMake's own module leaves a target alone that is there already.
    add_library(CUDA::cuda_driver INTERFACE IMPORTED GLOBAL)
  else()
    get_target_property(type CUDA::cuda_driver TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      # A library that was found has to stay one: an archive with nothing in it.
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
