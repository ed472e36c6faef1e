// SPDX-License-Identifier: Apache-2.0
// Finding the ELF files under a path: the file itself, those of a directory, those of an archive.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cushim::command {

struct FileVisitor {
  // An ELF file; the bytes live during the visit only. A member's name is "package.whl: lib/member.so".
  std::function<void(const std::string &name, std::string_view bytes)> elf;
  // What cannot be looked at, and why, in words that go behind its name.
  std::function<void(const std::string &name, const std::string &why)> problem;
};

// Visits the ELF files under a path in the order of their names: directories with all that is below
// them, wheels and Debian packages with their members. Links within directories are not followed. False if
// the path itself cannot be read; problem says why.
bool visit_files(const std::string &path, const FileVisitor &visitor);

}  // namespace cushim::command
