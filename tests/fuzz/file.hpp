// SPDX-License-Identifier: Apache-2.0
// Provides bytes as a file, for code that reads a file by its name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace fuzz {

// An anonymous file in memory, shared by all runs.
class File {
 public:
  File() : number_(memfd_create("fuzz", MFD_CLOEXEC)) { promise(number_ >= 0, "there are files in memory"); }
  ~File() { close(number_); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  void set(std::string_view bytes) const {
    const bool is_written = ftruncate(number_, 0) == 0 && pwrite(number_, bytes.data(), bytes.size(), 0) ==
                                                              static_cast<ssize_t>(bytes.size());
    promise(is_written, "files in memory can be written");
  }

 private:
  const int number_;
};

}  // namespace fuzz
