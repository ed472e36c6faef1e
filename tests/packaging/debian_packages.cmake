# SPDX-License-Identifier: Apache-2.0
# cpack makes a Debian package of each component. Unpacked, the packages contain the right files, none twice,
# and work for a user's project; the command runs.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
configure_like_cushim(${SOURCE} -DBUILD_SHARED_LIBS=ON
  -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS} -DCUSHIM_BUILD_TOOLS=ON -DCUSHIM_BUILD_MOCK=${MOCK}
  -DCUSHIM_BUILD_TESTS=OFF -DCUSHIM_BUILD_EXAMPLES=OFF -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON)
set(targets cushim cushim_cuda_driver cushim-command)  # without the targets that users build themselves
if(MOCK)
  list(APPEND targets cushim_check cushim_dispatch cushim_entry_traits cushim_faults cushim_hooks cushim_ptx cushim_replay cushim_sim cushim_trace cushim_libcuda cushim_ptx_recorder)
endif()
run(${CMAKE_COMMAND} --build ${BESIDE} --target ${targets})
run(${CPACK} --config ${BESIDE}/CPackConfig.cmake -B ${WORK}/packages)

set(runtime libcushim${VERSION_MAJOR})
set(names ${runtime} libcushim-dev cushim)
if(MOCK)
  list(APPEND names libcushim-mock-dev cushim-sim)
endif()
set(all_files "")
foreach(name IN LISTS names)
  file(GLOB package ${WORK}/packages/${name}_*.deb)
  list(LENGTH package count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "there is not one package ${name}: ${package}")
  endif()
  execute_process(COMMAND ${DPKG_DEB} -f ${package} Depends OUTPUT_VARIABLE depends COMMAND_ERROR_IS_FATAL ANY)
  if(NOT name STREQUAL runtime AND NOT name STREQUAL "cushim-sim" AND NOT depends MATCHES "(${runtime}|libcushim-dev) \\(= ${VERSION}\\)")
    message(FATAL_ERROR "${name} does not ask for the library of its own version: ${depends}")
  endif()
  if(DPKG_SHLIBDEPS AND NOT name MATCHES "-dev$" AND NOT depends MATCHES "libc6 \\(>= ")
    message(FATAL_ERROR "${name} does not say which libc it needs: ${depends}")
  endif()
  file(MAKE_DIRECTORY ${WORK}/only/${name} ${WORK}/root)
  run(${DPKG_DEB} -x ${package} ${WORK}/only/${name})
  run(${DPKG_DEB} -x ${package} ${WORK}/root)
  file(GLOB_RECURSE files RELATIVE ${WORK}/only/${name} LIST_DIRECTORIES false ${WORK}/only/${name}/*)
  foreach(file IN LISTS files)
    if(file IN_LIST all_files)
      message(FATAL_ERROR "${file} is in two packages")
    endif()
  endforeach()
  list(APPEND all_files ${files})
  set(files_of_${name} "${files}")
endforeach()

# The runtime package contains only the library; the files for building are in other packages.
foreach(file IN LISTS files_of_${runtime})
  if(NOT file MATCHES "/libcushim\\.so\\.[0-9.]+$|/LICENSE$")
    message(FATAL_ERROR "${file} is not what a program needs to run")
  endif()
endforeach()
if(NOT files_of_libcushim-dev MATCHES "cushim/cushim\\.hpp.*libcushim\\.so;" OR
   NOT files_of_libcushim-dev MATCHES "libcushim_cuda_driver\\.a" OR NOT files_of_cushim STREQUAL "usr/bin/cushim")
  message(FATAL_ERROR "the packages do not hold what they should: ${all_files}")
endif()

file(GLOB_RECURSE library ${WORK}/root/usr/lib*/libcushim.so.${VERSION_MAJOR})
get_filename_component(library_folder ${library} DIRECTORY)
set(ENV{LD_LIBRARY_PATH} ${library_folder})
run(${WORK}/root/usr/bin/cushim --version)
configure(${CMAKE_CURRENT_LIST_DIR}/package ${WORK}/package
  -DCMAKE_PREFIX_PATH=${WORK}/root/usr -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
run(${CMAKE_COMMAND} --build ${WORK}/package)
run_programs(${WORK}/package)

if(MOCK)
  configure(${CMAKE_CURRENT_LIST_DIR}/mock ${WORK}/mock -DINSTALLED=ON
    -DCMAKE_PREFIX_PATH=${WORK}/root/usr -DCUSHIM_CUDA_INCLUDE_DIR=${HEADERS})
  # Another test compiles the mock of GoogleMock from the same component.
  if(NOT files_of_libcushim-mock-dev MATCHES "/cushim/gmock/common_signatures\\.cpp" OR
     NOT files_of_libcushim-mock-dev MATCHES "/cushim/gmock/mock_driver\\.cpp")
    message(FATAL_ERROR "the package of the mock lacks sources: ${files_of_libcushim-mock-dev}")
  endif()
  run(${CMAKE_COMMAND} --build ${WORK}/mock --target user_hook user_sim)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/mock -R "^(user_hook|user_sim)$" --no-tests=error --output-on-failure)

  # The package of the simulated driver contains only its library, under both names, outside the library
  # search path; the command finds it.
  if(NOT files_of_cushim-sim MATCHES "^usr/lib(/[^/]+)?/cushim/sim/libcuda\\.so;usr/lib(/[^/]+)?/cushim/sim/libcuda\\.so\\.1;usr/lib(/[^/]+)?/cushim/sim/libcushim_ptx_recorder\\.so$")
    message(FATAL_ERROR "the simulated driver is ${files_of_cushim-sim}")
  endif()
  execute_process(COMMAND ${WORK}/root/usr/bin/cushim run --devices h200x3 -- ${WORK}/root/usr/bin/cushim ctest-resources
    OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(JSON count LENGTH "${output}" local 0 gpus)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "the simulated driver has not the three GPUs asked for: ${output}")
  endif()
endif()
