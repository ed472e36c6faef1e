// SPDX-License-Identifier: Apache-2.0
// Facts about the process for recorders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cushim::trace {

// Returns whether this is a child of a process that called watch_for_fork(). Such a child records nothing.
extern std::atomic<bool> is_forked_child;
void watch_for_fork();

// Returns a number of the calling thread that no other thread of the process ever has.
std::uint64_t number_of_this_thread();

// Copies memory that may not exist. Returns the number of bytes that were copied.
std::size_t copy_if_there(void *to, std::uint64_t address, std::size_t size);
// The same, and returns whether all bytes were copied. If not, some may have been.
inline bool copy_all_if_there(void *to, std::uint64_t address, std::size_t size) {
  return copy_if_there(to, address, size) == size;
}

// Returns the path of the program; empty if it is unknown.
std::string this_program();

}  // namespace cushim::trace
