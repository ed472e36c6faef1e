// SPDX-License-Identifier: Apache-2.0
// CUDA releases: 12.4 for users, 12040 in the driver API.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cushim::command {

// Returns "12.4" for 12040.
std::string release_text(int version);

// Returns 12040 for "12.4", and 12000 for "12". Returns nullopt if the text is not a release.
std::optional<int> parse_release(std::string_view text);

// Returns the newest release with an entry point in the list.
int newest_known_release();

// Returns "cushim 1.0.0 (723 entry points of the CUDA driver, up to release 13.5)".
std::string version_text();

// Returns "1.0.0".
std::string cushim_version();

}  // namespace cushim::command
