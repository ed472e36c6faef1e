# SPDX-License-Identifier: Apache-2.0
# Installs this very build (BUILD) into WORK/all, for the tests that use it; what tests are written with is there
# to the last file, and the simulated driver is where no program finds it by itself.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
function(install component prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/${prefix} --component ${component})
endfunction()

# list_files(<variable> <root> <glob>...): sorted, relative to the root
function(list_files variable root)
  list(TRANSFORM ARGN PREPEND ${root}/ OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE files RELATIVE ${root} LIST_DIRECTORIES false ${globs})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

install(mock mock_alone)
list_files(installed ${WORK}/mock_alone *)
list_files(headers ${SOURCE}/mock include/*)
list_files(check_headers ${SOURCE}/mock/check include/*)
list_files(sim_headers ${SOURCE}/mock/sim include/*)
list_files(sources ${SOURCE}/mock gmock/* testing/*)
list(TRANSFORM sources PREPEND share/cushim/)
string(TOLOWER "${BUILD_TYPE}" build_type)
set(expected ${headers} ${check_headers} ${sim_headers} ${sources}
  ${LIBDIR}/cmake/cushim/AddTests.cmake
  ${LIBDIR}/cmake/cushim/DiscoverTests.cmake
  ${LIBDIR}/cmake/cushim/cushim-mock-targets-${build_type}.cmake
  ${LIBDIR}/cmake/cushim/cushim-mock-targets.cmake
  ${LIBDIR}/libcushim_check.a
  ${LIBDIR}/libcushim_hooks.a
  ${LIBDIR}/libcushim_sim.a)
list(SORT installed)
list(SORT expected)
if(NOT installed STREQUAL expected)
  message(FATAL_ERROR "installed: ${installed}\nexpected:  ${expected}")
endif()

install(sim sim_alone)
list_files(installed ${WORK}/sim_alone *)
if(NOT installed STREQUAL "${LIBDIR}/cushim/sim/libcuda.so;${LIBDIR}/cushim/sim/libcuda.so.1")
  message(FATAL_ERROR "installed as the simulated driver: ${installed}")
endif()

foreach(component runtime dev)
  install(${component} without_mock)
endforeach()
foreach(component runtime dev mock sim tools)
  install(${component} all)
endforeach()
