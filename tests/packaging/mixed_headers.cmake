# SPDX-License-Identifier: Apache-2.0
# cushim built with one release's CUDA headers (BUILT_WITH), static or (SHARED) shared, and used by programs
# compiled with another's (USED_WITH), on a fake driver (DRIVER) and without a driver.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
configure(${SOURCE} ${WORK}/build -DBUILD_SHARED_LIBS=${SHARED} -DCUSHIM_CUDA_INCLUDE_DIR=${BUILT_WITH}
  -DCUSHIM_BUILD_TOOLS=OFF -DCUSHIM_BUILD_TESTS=OFF -DCUSHIM_BUILD_EXAMPLES=OFF -DCUSHIM_BUILD_MOCK=OFF
  -DCMAKE_INSTALL_PREFIX=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/build --target install)
configure(${CMAKE_CURRENT_LIST_DIR}/package ${WORK}/package
  -DCMAKE_PREFIX_PATH=${WORK}/installed -DCUSHIM_CUDA_INCLUDE_DIR=${USED_WITH} -DWITH_EVERY_ENTRY=ON)
run(${CMAKE_COMMAND} --build ${WORK}/package)
foreach(driver none ${DRIVER})
  set(ENV{CUSHIM_LIBRARY} ${driver})
  run_programs(${WORK}/package)
  run(${WORK}/package/every_entry)
endforeach()
