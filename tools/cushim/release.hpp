// SPDX-License-Identifier: Apache-2.0
// CUDA releases, which users write as 12.4 and the driver as 12040.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cushim::command {

// "12.4" for 12040.
std::string release_text(int version);

// 12040 for "12.4", and 12000 for "12". Nothing if the text is no release.
std::optional<int> parse_release(std::string_view text);

// The newest release of which the one list has an entry point.
int newest_known_release();

// "cushim 1.0.0 (723 entry points of the CUDA driver, up to release 13.5)"
std::string version_text();

// "1.0.0"
std::string cushim_version();

}  // namespace cushim::command
