// SPDX-License-Identifier: Apache-2.0
// Refuses a compiler that is not set to C++20, before it stumbles over what it does not know.
#pragma once

#if __cplusplus < 202002L
#error "cushim's C++ headers need C++20; older C++ and C use <cushim/load.h> or the drop-in library"
#include <cushim/needs_cxx20>  // there is none: the compiler ends here
#endif
