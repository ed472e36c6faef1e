// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace cushim::testing {

// Returns the content of a file from its beginning.
inline std::string text_of_file(int file) {
  std::string text;
  char part[4096];
  for (ssize_t got; (got = pread(file, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

// An anonymous file in memory, which other processes can be given.
class MemoryFile {
 public:
  explicit MemoryFile(const char *name) : file_(memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("memfd_create failed");
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { close(file_); }

  int file() const { return file_; }
  std::string text() const { return text_of_file(file_); }

 private:
  int file_;
};

}  // namespace cushim::testing
