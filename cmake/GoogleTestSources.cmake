# SPDX-License-Identifier: Apache-2.0
# find_package(GTest) builds GoogleTest from the sources that Debian's package googletest installs: for
# machines that no built one is there for. Name this file in CMAKE_PROJECT_cushim_INCLUDE.
include(FetchContent)
set(INSTALL_GTEST OFF)
FetchContent_Declare(GTest SOURCE_DIR /usr/src/googletest OVERRIDE_FIND_PACKAGE)
