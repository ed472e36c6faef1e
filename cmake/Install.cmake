# SPDX-License-Identifier: Apache-2.0
# Install rules. Components: runtime is needed to run a program (only the licence if it links the static
# library), dev to build it, mock to build its tests; sim is the simulated libcuda.so.1 for unmodified
# programs. Installs no NVIDIA files; see tests/packaging.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cushim")

install(TARGETS cushim EXPORT cushim
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS cushim_cuda_driver EXPORT cushim ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/cushim" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.inc")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

install(EXPORT cushim FILE cushim-targets.cmake NAMESPACE cushim:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/cushim-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/cushim-config.cmake" INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/cushim-config-version.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/cushim-config.cmake"
  "${PROJECT_BINARY_DIR}/package/cushim-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/CudaHeaders.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/ReplaceCudaDriver.cmake"
  DESTINATION ${package_dir} COMPONENT dev)

if(CUSHIM_BUILD_MOCK)
  set(libraries cushim_entry_traits cushim_dispatch cushim_hooks cushim_check cushim_faults cushim_trace cushim_replay)
    # Installed as sources, built with the GoogleTest of the user's project.
  set(source_folders "${PROJECT_SOURCE_DIR}/mock/gmock")
  if(TARGET cushim_testing)
    list(APPEND libraries cushim_sim cushim_ptx)
    list(APPEND source_folders "${PROJECT_SOURCE_DIR}/mock/testing")
    install(FILES "${CMAKE_CURRENT_LIST_DIR}/DiscoverTests.cmake" "${CMAKE_CURRENT_LIST_DIR}/AddTests.cmake"
      DESTINATION ${package_dir} COMPONENT mock)
  endif()
  install(TARGETS ${libraries} EXPORT cushim-mock ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mock)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/mock/include/cushim" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT mock FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.inc")
  install(DIRECTORY ${source_folders} DESTINATION ${CMAKE_INSTALL_DATADIR}/cushim COMPONENT mock)
  install(EXPORT cushim-mock FILE cushim-mock-targets.cmake NAMESPACE cushim::
    DESTINATION ${package_dir} COMPONENT mock)
endif()

if(TARGET cushim_libcuda)
  set(recorder "")
  if(TARGET cushim_ptx_recorder)
    set(recorder cushim_ptx_recorder)
  endif()
  # Outside the default library search path. Includes libcuda.so, which some programs open.
  install(TARGETS cushim_libcuda ${recorder} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cushim/sim COMPONENT sim)
endif()

# Relative paths, so that the package can be relocated.
file(RELATIVE_PATH pkgconfig_to_include
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
get_target_property(library_type cushim TYPE)
set(pkgconfig_flags "")
if(library_type STREQUAL "SHARED_LIBRARY")
  set(pkgconfig_flags " -DCUSHIM_SHARED")
endif()
set(pkgconfig_libs_private "")
if(CMAKE_DL_LIBS)
  set(pkgconfig_libs_private "-l${CMAKE_DL_LIBS}")
endif()
foreach(package cushim cushim-cuda-driver)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in" "${PROJECT_BINARY_DIR}/package/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${package}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT dev)
endforeach()
