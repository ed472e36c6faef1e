# SPDX-License-Identifier: Apache-2.0
# Makes find_package(GTest) build GoogleTest from the sources in Debian's package googletest, for machines
# without a built one. Set CMAKE_PROJECT_cushim_INCLUDE to this file.
include(FetchContent)
set(INSTALL_GTEST OFF)
FetchContent_Declare(GTest SOURCE_DIR /usr/src/googletest OVERRIDE_FIND_PACKAGE)
