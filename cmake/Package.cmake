# SPDX-License-Identifier: Apache-2.0
# Debian packages, one per component: run `cpack` in the build directory.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cushim)
set(CPACK_PACKAGE_VENDOR cushim)
set(CPACK_PACKAGE_CONTACT "the authors of cushim")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")

get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)  # components with installed files
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(same_version "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "libcushim${PROJECT_VERSION_MAJOR}")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME "libcushim-dev")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME "cushim")
set(CPACK_DEBIAN_MOCK_PACKAGE_NAME "libcushim-mock-dev")
set(CPACK_DEBIAN_SIM_PACKAGE_NAME "cushim-sim")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "The NVIDIA driver without linking it\n What programs need to run that link cushim's shared library.")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "The NVIDIA driver without linking it: headers and libraries\n What programs are built with.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
  "The cushim command\n Finds what is wrong with a machine's driver, and what a binary asks of it.")
set(CPACK_COMPONENT_MOCK_DESCRIPTION
  "Mocks and a simulation of the NVIDIA driver\n What tests are written with. Programs that ship need none of it.")
set(CPACK_COMPONENT_SIM_DESCRIPTION
  "A simulated libcuda.so.1\n For testing programs without a GPU: it lies where only `cushim run` finds it.")
foreach(component DEV TOOLS MOCK)
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "libcushim${PROJECT_VERSION_MAJOR} ${same_version}")
endforeach()
set(CPACK_DEBIAN_MOCK_PACKAGE_DEPENDS "libcushim-dev ${same_version}, libgmock-dev")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS cushim-sim)
foreach(component DEV MOCK)
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION libdevel)
endforeach()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_SIM_PACKAGE_SECTION utils)

# dpkg-shlibdeps, if available, determines the remaining dependencies of programs and libraries.
find_program(CUSHIM_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(CUSHIM_DPKG_SHLIBDEPS)
if(CUSHIM_DPKG_SHLIBDEPS)
  foreach(component RUNTIME TOOLS SIM)
    set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
  endforeach()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/shim")
endif()
include(CPack)
