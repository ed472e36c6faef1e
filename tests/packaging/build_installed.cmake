# SPDX-License-Identifier: Apache-2.0
# Installs this build (BUILD) into WORK/all for the tests that use it. Checks that all files of the test
# libraries are there, and that the simulated driver is outside the default library search path.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
function(install component prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/${prefix} --component ${component})
endfunction()

# list_files(<variable> <root> <glob>...): sets a sorted list of paths relative to root
function(list_files variable root)
  list(TRANSFORM ARGN PREPEND ${root}/ OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE files RELATIVE ${root} LIST_DIRECTORIES false ${globs})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

install(mock mock_alone)
list_files(installed ${WORK}/mock_alone *)
list_files(headers ${SOURCE}/mock include/*)
list_files(sources ${SOURCE}/mock gmock/* testing/*)
list(TRANSFORM sources PREPEND share/cushim/)
string(TOLOWER "${BUILD_TYPE}" build_type)
set(expected ${headers} ${sources}
  ${LIBDIR}/cmake/cushim/AddTests.cmake
  ${LIBDIR}/cmake/cushim/DiscoverTests.cmake
  ${LIBDIR}/cmake/cushim/cushim-mock-targets-${build_type}.cmake
  ${LIBDIR}/cmake/cushim/cushim-mock-targets.cmake
  ${LIBDIR}/libcushim_check.a
  ${LIBDIR}/libcushim_dispatch.a
  ${LIBDIR}/libcushim_entry_traits.a
  ${LIBDIR}/libcushim_faults.a
  ${LIBDIR}/libcushim_hooks.a
  ${LIBDIR}/libcushim_ptx.a
  ${LIBDIR}/libcushim_replay.a
  ${LIBDIR}/libcushim_sim.a
  ${LIBDIR}/libcushim_trace.a)
list(SORT installed)
list(SORT expected)
if(NOT installed STREQUAL expected)
  message(FATAL_ERROR "installed: ${installed}\nexpected:  ${expected}")
endif()

install(sim sim_alone)
list_files(installed ${WORK}/sim_alone *)
if(NOT installed STREQUAL "${LIBDIR}/cushim/sim/libcuda.so;${LIBDIR}/cushim/sim/libcuda.so.1;${LIBDIR}/cushim/sim/libcushim_ptx_recorder.so")
  message(FATAL_ERROR "installed as the simulated driver: ${installed}")
endif()

foreach(component runtime dev)
  install(${component} without_mock)
endforeach()
foreach(component runtime dev mock sim tools)
  install(${component} all)
endforeach()
