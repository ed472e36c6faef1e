// SPDX-License-Identifier: Apache-2.0
// Reads wheels and Debian packages with libarchive. A build without libarchive reads none.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cushim::command {

// An archive that cannot be read completely. The message continues a sentence that begins with its name.
struct BrokenArchive : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns whether this build reads archives.
bool reads_archives();

// Returns whether the name ends in .whl or .deb.
bool is_archive(const std::filesystem::path &path);

// Callbacks for the members of an archive. A member's bytes are in memory only during the call.
struct ArchiveVisitor {
  // Receives an ELF file; name is its path in the archive.
  std::function<void(const std::string &name, std::string_view bytes)> elf;
  // Receives a member that cannot be inspected; `why` continues a sentence that begins with its name.
  std::function<void(const std::string &name, const std::string &why)> problem;
};

// Visits the members that are ELF files, in archive order. Of a Debian package, visits the members of its
// data archive. Throws BrokenArchive, possibly after visiting some members.
void visit_archive(const std::filesystem::path &path, const ArchiveVisitor &visitor);

}  // namespace cushim::command
