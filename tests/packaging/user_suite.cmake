# SPDX-License-Identifier: Apache-2.0
# examples/user_suite as a separate project, with cushim's sources or an installed one (INSTALLED: its
# prefix). Its tests pass on the simulated driver; `ctest -L gpu` fails without a GPU or with only a simulated
# one.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
if(INSTALLED)
  set(build ${WORK}/build)
  configure(${SOURCE}/examples/user_suite ${build} -DCMAKE_PREFIX_PATH=${INSTALLED} -DCUSHIM_SOURCE_DIR=/nonexistent
    -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DCUSHIM_TEST_GPU=ON)
else()
  set(build ${BESIDE})
  configure_like_cushim(${SOURCE}/examples/user_suite -DCUSHIM_SOURCE_DIR=${SOURCE}
    -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DCUSHIM_TEST_GPU=ON)
endif()
run(${CMAKE_COMMAND} --build ${build} --target user_suite)

# ctest(<argument>...): sets code and output
function(ctest)
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} --no-tests=error --output-on-failure ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(code ${code} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

ctest(-L sim --output-junit ${WORK}/junit.xml)
if(NOT code EQUAL 0 OR NOT output MATCHES "100% tests passed, 0 tests failed out of 2" OR output MATCHES "Skipped")
  message(FATAL_ERROR "the suite failed on the simulated driver:\n${output}")
endif()
file(READ ${WORK}/junit.xml junit)
if(NOT junit MATCHES "tests=\"2\"\n?[^>]*skipped=\"0\"")
  message(FATAL_ERROR "JUnit says otherwise:\n${junit}")
endif()
ctest(-N -L multi-gpu)
if(NOT output MATCHES "gpu.Frames.Are_given_to_another_gpu.*Total Tests: 1\n")
  message(FATAL_ERROR "one test needs several GPUs:\n${output}")
endif()

set(ENV{CUSHIM_LIBRARY} "")
if(INSTALLED)
  set(ENV{LD_LIBRARY_PATH} ${INSTALLED}/${LIBDIR}/cushim/sim)
  ctest(-L gpu)
  if(code EQUAL 0 OR NOT output MATCHES "0% tests passed, 2 tests failed" OR NOT output MATCHES "is SIMULATED: ")
    message(FATAL_ERROR "-L gpu passes on the installed simulated driver:\n${output}")
  endif()
endif()
if(NOT EXISTS /dev/nvidiactl)
  set(ENV{LD_LIBRARY_PATH} "")
  ctest(-L gpu)
  if(code EQUAL 0 OR NOT output MATCHES "0% tests passed, 2 tests failed")
    message(FATAL_ERROR "-L gpu passes where there is no GPU:\n${output}")
  endif()
endif()
