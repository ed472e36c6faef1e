# SPDX-License-Identifier: Apache-2.0
# What cushim's own code is compiled with beyond what its users choose.
if(PROJECT_IS_TOP_LEVEL)
  # Files are named from the sources' folder on: the same sources give the same libraries wherever they lie.
  add_compile_options(
    "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
add_library(cushim_warnings INTERFACE)
target_compile_options(cushim_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CUSHIM_WERROR}>:-Werror>)
if(CUSHIM_SANITIZE)
  string(REPLACE ";" "," sanitizers "${CUSHIM_SANITIZE}")
  # Everywhere, so that dependencies built here (none today) agree with the code that uses them.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()
