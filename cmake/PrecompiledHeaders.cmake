# SPDX-License-Identifier: Apache-2.0
# Precompiled headers of libraries, with CUSHIM_PRECOMPILE_HEADERS. Clang without optimization compiles a file
# of the simulated driver in 40 % of the time with them, and GCC with -O2 in 55 %. The preset `gcc` does without:
# its object files are found in ccache by tests that build cushim's sources inside a user's project. With
# precompiled headers these tests would compile everything again, because the header's path differs.

# cushim_precompile_headers(<target> <header>...): headers that most files of the target include
function(cushim_precompile_headers target)
  if(NOT CUSHIM_PRECOMPILE_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # required by ccache
  endif()
endfunction()
