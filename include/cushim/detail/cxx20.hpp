// SPDX-License-Identifier: Apache-2.0
// Stops a compilation that is not in C++20 mode with a clear error.
#pragma once

#if __cplusplus < 202002L
#error "cushim's C++ headers need C++20; older C++ and C use <cushim/load.h> or the drop-in library"
#include <cushim/needs_cxx20>  // no such file: the compiler stops here
#endif
