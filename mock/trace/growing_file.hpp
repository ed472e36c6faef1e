// SPDX-License-Identifier: Apache-2.0
// A file that is written in parts. It is opened for each part: a program may close all descriptors and use
// their numbers again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cushim::trace {

// Opens the file, which must have this inode, or any for 0, which is then set. Returns -1 and sets errno on
// failure.
int open_again(const std::string &file, ino_t &inode);

// Enlarges the file at `offset`, and maps this part. Returns null and sets errno on failure.
void *map_part(const std::string &file, ino_t &inode, std::size_t offset, std::size_t size);

// Writes bytes [begin, end) of the memory to the same bytes behind `offset` of the file. Returns false and
// sets errno on failure.
bool write_at(int descriptor, const char *memory, std::size_t begin, std::size_t end, std::uint64_t offset);

}  // namespace cushim::trace
