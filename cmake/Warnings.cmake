# SPDX-License-Identifier: Apache-2.0
# What cushim's own code is compiled with beyond what its users choose.
add_library(cushim_warnings INTERFACE)
target_compile_options(cushim_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CUSHIM_WERROR}>:-Werror>)
if(CUSHIM_SANITIZE)
  string(REPLACE ";" "," sanitizers "${CUSHIM_SANITIZE}")
  # Everywhere, so that dependencies built here (none today) agree with the code that uses them.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()

# For what ships: files are named from the sources' folder on, so that the same sources give the same
# libraries wherever they lie. Within a user's project debuggers go on finding the sources.
add_library(cushim_same_anywhere INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(cushim_same_anywhere INTERFACE
    "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
