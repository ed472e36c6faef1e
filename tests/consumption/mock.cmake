# SPDX-License-Identifier: Apache-2.0
# A user's test on the mock, with an INSTALLED cushim or its sources, and with the user's own GOOGLETEST
# (its sources; empty for the system's). No second copy of GoogleTest: where the user has one, the search for
# another is an error.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

if(INSTALLED)
  configure(${SOURCE} ${WORK}/build -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS}
    -DCUSHIM_BUILD_TOOLS=OFF -DCUSHIM_BUILD_TESTS=OFF -DCUSHIM_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib)
  run(${CMAKE_COMMAND} --build ${WORK}/build)

  # Every file of the component is accounted for.
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/mock_alone --component mock)
  file(GLOB_RECURSE installed RELATIVE ${WORK}/mock_alone LIST_DIRECTORIES false ${WORK}/mock_alone/*)
  file(GLOB_RECURSE headers RELATIVE ${SOURCE}/mock ${SOURCE}/mock/include/*)
  file(GLOB_RECURSE sources RELATIVE ${SOURCE}/mock ${SOURCE}/mock/gmock/*)
  list(TRANSFORM sources PREPEND share/cushim/)
  set(expected ${headers} ${sources}
    lib/cmake/cushim/cushim-mock-targets-debug.cmake
    lib/cmake/cushim/cushim-mock-targets.cmake
    lib/libcushim_hooks.a)
  list(SORT installed)
  list(SORT expected)
  if(NOT installed STREQUAL expected)
    message(FATAL_ERROR "installed: ${installed}\nexpected:  ${expected}")
  endif()

  # Without the component a user is told so.
  foreach(component runtime dev)
    run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/installed --component ${component})
  endforeach()
  configure_command(${CMAKE_CURRENT_LIST_DIR}/mock ${WORK}/user_without -DINSTALLED=ON
    -DCMAKE_PREFIX_PATH=${WORK}/installed -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
  execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code EQUAL 0 OR NOT output MATCHES "component mock is not.+installed")
    message(FATAL_ERROR "without the component find_package(cushim COMPONENTS mock) said:\n${output}")
  endif()
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/installed --component mock)
endif()

set(own "")
if(GOOGLETEST)
  set(own -DGOOGLETEST=${GOOGLETEST} -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
endif()
configure(${CMAKE_CURRENT_LIST_DIR}/mock ${WORK}/user ${own} -DINSTALLED=${INSTALLED}
  -DCMAKE_PREFIX_PATH=${WORK}/installed -DCUSHIM_SOURCE_DIR=${SOURCE} -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/user --target user_test user_hook)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/user -R user_ --no-tests=error --output-on-failure)
