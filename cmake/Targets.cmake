# SPDX-License-Identifier: Apache-2.0
# cushim_find_targets(<variable> <folder>): sets the variable to the programs and libraries of the folder and its
# subfolders
function(cushim_find_targets variable folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  set(found "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|LIBRARY" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    cushim_find_targets(below "${subfolder}")
    list(APPEND found ${below})
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
