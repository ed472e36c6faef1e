// SPDX-License-Identifier: Apache-2.0
// Wheels and Debian packages, read by libarchive. A build without it reads none.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cushim::command {

// Why an archive cannot be read to its end, in words that go behind its name.
struct BrokenArchive : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether this build reads archives.
bool reads_archives();

// By the name: .whl or .deb.
bool is_archive(const std::filesystem::path &path);

// A member, held in memory while it is visited.
struct ArchiveVisitor {
  // An ELF file; name is its path in the archive.
  std::function<void(const std::string &name, std::string_view bytes)> elf;
  // A member that cannot be looked at, and why, in words that go behind its name.
  std::function<void(const std::string &name, const std::string &why)> problem;
};

// Visits the members that are ELF files, in the order in which they lie in the archive. Of a Debian
// package these are the members of the data archive within. Throws BrokenArchive, also when some members
// have been visited.
void visit_archive(const std::filesystem::path &path, const ArchiveVisitor &visitor);

}  // namespace cushim::command
