# SPDX-License-Identifier: Apache-2.0
# A user's test with the mock, with an installed cushim (INSTALLED: its prefix) or its sources, and with the
# user's own GOOGLETEST (its sources; empty for the system's). Uses one copy of GoogleTest: if the user's
# project has one, a search for another is an error.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

if(INSTALLED)
  # Without the component the error says that it is missing.
  configure_command(${CMAKE_CURRENT_LIST_DIR}/mock ${WORK}/user_without -DINSTALLED=ON
    -DCMAKE_PREFIX_PATH=${INSTALLED}/../without_mock -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
  execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code EQUAL 0 OR NOT output MATCHES "component mock is not.+installed")
    message(FATAL_ERROR "without the component find_package(cushim COMPONENTS mock) said:\n${output}")
  endif()
endif()

set(own "")
set(is_installed OFF)
set(targets user_test user_hook)
if(INSTALLED)
  set(is_installed ON)
  list(APPEND targets user_sim)
endif()
if(GOOGLETEST)
  set(own -DGOOGLETEST=${GOOGLETEST} -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
endif()
list(APPEND own -DINSTALLED=${is_installed} -DCMAKE_PREFIX_PATH=${INSTALLED} -DCUSHIM_SOURCE_DIR=${SOURCE}
  -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
if(INSTALLED)
  set(build ${WORK}/build)
  configure(${CMAKE_CURRENT_LIST_DIR}/mock ${build} ${own})
else()
  set(build ${BESIDE})
  configure_like_cushim(${CMAKE_CURRENT_LIST_DIR}/mock ${own})
endif()
run(${CMAKE_COMMAND} --build ${build} --target ${targets})
list(JOIN targets "|" tests)
run(${CMAKE_CTEST_COMMAND} --test-dir ${build} -R "^(${tests})$" --no-tests=error --output-on-failure)
