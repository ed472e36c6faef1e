// SPDX-License-Identifier: Apache-2.0
// PTX sources for tests.
#pragma once

#include <string>
#include <string_view>

#include <cushim/ptx/module.hpp>

namespace cushim::ptx::testing {

inline std::string module_of(std::string_view text, std::string_view target = "sm_90a") {
  return ".version 9.0\n.target " + std::string(target) + "\n.address_size 64\n" + std::string(text);
}

// Returns an entry whose body begins on line 6.
inline std::string entry_of(std::string_view body, std::string_view target = "sm_90a") {
  return module_of(
      ".entry k(.param .u64 p, .param .align 8 .b8 q[24]) {\n"
      ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .pred "
      "%p<9>; .reg .b128 %q<9>;\n" +
          std::string(body) + "\n}\n",
      target);
}

}  // namespace cushim::ptx::testing
