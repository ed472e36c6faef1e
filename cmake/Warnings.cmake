# SPDX-License-Identifier: Apache-2.0
# Compile options of cushim's own code, in addition to the user's.
add_library(cushim_warnings INTERFACE)
target_compile_options(cushim_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CUSHIM_WERROR}>:-Werror>)
# GCC 12 at -O3 falsely warns that "text" + string copies between overlapping buffers (GCC bug 105651).
set(is_gcc_12 $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)
target_compile_options(cushim_warnings INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>,${is_gcc_12}>:-Wno-restrict>)
if(CUSHIM_SANITIZE)
  string(REPLACE ";" "," sanitizers "${CUSHIM_SANITIZE}")
  # Global, so that dependencies built here (none today) are compiled with the same sanitizers.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()

# Options of installed libraries: file names relative to the source directory, so that the same sources give
# the same libraries in any directory. Not within a user's project, where debuggers need the real paths.
add_library(cushim_same_anywhere INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(cushim_same_anywhere INTERFACE
    "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
