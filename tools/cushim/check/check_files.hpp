// SPDX-License-Identifier: Apache-2.0
// Finds the ELF files under a path: the file itself, and those in a directory or in an archive.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cushim::command {

struct FileVisitor {
  // Receives an ELF file; the bytes are valid only during the call. A member's name is "package.whl:
  // lib/member.so".
  std::function<void(const std::string &name, std::string_view bytes)> elf;
  // Receives a file that cannot be inspected; `why` continues a sentence that begins with its name.
  std::function<void(const std::string &name, const std::string &why)> problem;
};

// Visits the ELF files under a path, sorted by name: directories recursively, wheels and Debian packages with
// their members. Does not follow links in directories. Returns false, after calling problem, if the path
// itself cannot be read.
bool visit_files(const std::string &path, const FileVisitor &visitor);

}  // namespace cushim::command
