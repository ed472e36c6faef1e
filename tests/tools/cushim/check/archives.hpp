// SPDX-License-Identifier: Apache-2.0
// Writes archives for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cushim::command {

using Members = std::vector<std::pair<std::string, std::string>>;  // names and bytes

enum class Compression { none, gzip, xz, zstd };

void write_wheel(const std::string &path, const Members &members);

// Writes a Debian package without control data. `compression` is that of its data archive.
void write_package(const std::string &path, const Members &members, Compression compression);

}  // namespace cushim::command
