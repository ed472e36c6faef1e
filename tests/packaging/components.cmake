# SPDX-License-Identifier: Apache-2.0
# find_package finds each component of an installed cushim (INSTALLED: its prefix) with the target of that
# name. For an unknown component the error lists the components.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
foreach(component hooks check faults trace replay sim mock testing)
  configure(${CMAKE_CURRENT_LIST_DIR}/components ${WORK}/${component} -DCOMPONENT=${component}
    -DCMAKE_PREFIX_PATH=${INSTALLED} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
endforeach()
configure_command(${CMAKE_CURRENT_LIST_DIR}/components ${WORK}/unknown -DCOMPONENT=checks
  -DCMAKE_PREFIX_PATH=${INSTALLED} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "no[ \n]+component[ \n]+checks.*hooks,[ \n]+check,[ \n]+faults,[ \n]+trace,[ \n]+replay,[ \n]+sim,[ \n]+mock,[ \n]+testing")
  message(FATAL_ERROR "for an unknown component find_package(cushim) said:\n${output}")
endif()
