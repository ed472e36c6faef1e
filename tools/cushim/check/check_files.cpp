// SPDX-License-Identifier: Apache-2.0
#include "check/check_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "check/archive.hpp"
#include "check/elf_file.hpp"

namespace cushim::command {
namespace {

namespace fs = std::filesystem;

// A memory-mapped regular file.
class MappedFile {
 public:
  explicit MappedFile(const fs::path &path) {
    // O_NONBLOCK: the path may be a pipe.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) fail();
    struct stat status;
    const bool is_known = fstat(file, &status) == 0;
    size_ = is_known ? static_cast<std::size_t>(status.st_size) : 0;
    if (size_ != 0) address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    errno = error;
    if (!is_known || address_ == MAP_FAILED) fail();
  }
  ~MappedFile() {
    if (size_ != 0) munmap(address_, size_);
  }
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::string_view bytes() const { return {static_cast<const char *>(address_), size_}; }

 private:
  [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category()); }

  void *address_ = nullptr;
  std::size_t size_ = 0;
};

// Skips a file that is not an ELF file.
void visit_file(const fs::path &path, const FileVisitor &visitor) {
  if (is_archive(path)) {
    const auto member = [&path](const std::string &name) { return path.string() + ": " + name; };
    visit_archive(
        path, {[&](const std::string &name, std::string_view bytes) { visitor.elf(member(name), bytes); },
               [&](const std::string &name, const std::string &why) { visitor.problem(member(name), why); }});
    return;
  }
  const MappedFile file(path);
  if (is_elf(file.bytes())) visitor.elf(path.string(), file.bytes());
}

// Returns false if the file cannot be opened.
bool visit_named_file(const fs::path &path, const FileVisitor &visitor) {
  try {
    visit_file(path, visitor);
  } catch (const BrokenArchive &broken) {
    visitor.problem(path.string(), broken.what());
  } catch (const std::system_error &error) {
    visitor.problem(path.string(), "cannot be read: " + error.code().message());
    return false;
  }
  return true;
}

bool visit_directory(const fs::path &path, const FileVisitor &visitor) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator each(path, error); !error && each != fs::directory_iterator();
       each.increment(error))
    entries.push_back(*each);
  if (error) {
    visitor.problem(path.string(), "cannot be read: " + error.message());
    return false;
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry &entry : entries) {
    std::error_code unknown;
    const fs::file_type type = entry.symlink_status(unknown).type();
    if (type == fs::file_type::directory) visit_directory(entry.path(), visitor);
    if (type == fs::file_type::regular) visit_named_file(entry.path(), visitor);
  }
  return true;
}

}  // namespace

bool visit_files(const std::string &path, const FileVisitor &visitor) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return visit_directory(path, visitor);
  if (type == fs::file_type::regular) return visit_named_file(path, visitor);
  visitor.problem(path, error ? "cannot be read: " + error.message() : "is neither a file nor a directory");
  return false;
}

}  // namespace cushim::command
