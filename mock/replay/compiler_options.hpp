// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cushim::replay {

// Returns whether a parameter of this name has options of the JIT compiler or of a library, their values or
// their number. These are not replayed.
inline bool is_option_of_the_compiler(std::string_view name) {
  constexpr std::string_view kNames[] = {"numOptions",        "options",        "optionValues",
                                         "numJitOptions",     "jitOptions",     "jitOptionsValues",
                                         "numLibraryOptions", "libraryOptions", "libraryOptionValues"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace cushim::replay
