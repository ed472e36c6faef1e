// SPDX-License-Identifier: Apache-2.0
#include "check/archive.hpp"

#include "check/elf_file.hpp"

#if defined(CUSHIM_WITH_LIBARCHIVE)
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#endif

namespace cushim::command {

bool is_archive(const std::filesystem::path &path) {
  return path.extension() == ".whl" || path.extension() == ".deb";
}

#if defined(CUSHIM_WITH_LIBARCHIVE)

namespace {

// Larger members are rejected: they are more likely an attempt to exhaust the memory than a library.
constexpr std::size_t largest_member = std::size_t{4} << 30;

using Archive = std::unique_ptr<archive, decltype(&archive_read_free)>;

Archive make_archive() {
  Archive made(archive_read_new(), archive_read_free);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

void require(archive *source, int result) {
  if (result >= ARCHIVE_WARN) return;
  const char *text = archive_error_string(source);
  throw BrokenArchive(fmt::format("cannot be read: {}", text != nullptr ? text : "no reason given"));
}

// Returns the next member, or null at the end.
archive_entry *next(archive *source) {
  archive_entry *entry = nullptr;
  const int result = archive_read_next_header(source, &entry);
  if (result == ARCHIVE_EOF) return nullptr;
  require(source, result);
  return entry;
}

std::string name_of(archive_entry *entry) {
  const char *name = archive_entry_pathname(entry);
  std::string_view text = name != nullptr ? name : "(no name)";
  if (text.starts_with("./")) text.remove_prefix(2);
  return std::string(text);
}

std::size_t read_some(archive *source, void *buffer, std::size_t size) {
  const la_ssize_t got = archive_read_data(source, buffer, size);
  if (got < 0) require(source, static_cast<int>(got));
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Reads the member's bytes if it is an ELF file; otherwise leaves `bytes` empty. Returns false if the member
// is too large.
bool read_member(archive *source, std::string &bytes) {
  std::array<char, 65536> buffer;
  bytes.clear();
  while (const std::size_t got = read_some(source, buffer.data(), buffer.size())) {
    bytes.append(buffer.data(), got);
    if (bytes.size() >= 4 && !is_elf(bytes)) return bytes.clear(), true;
    if (bytes.size() > largest_member) return false;
  }
  if (!is_elf(bytes)) bytes.clear();
  return true;
}

void visit_members(archive *source, const ArchiveVisitor &visitor) {
  while (archive_entry *entry = next(source)) {
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) continue;
    const std::string name = name_of(entry);
    std::string bytes;
    if (!read_member(source, bytes))
      visitor.problem(name, fmt::format("is larger than {} bytes", largest_member));
    else if (!bytes.empty())
      visitor.elf(name, bytes);
  }
}

// An archive inside another archive, which supplies its bytes in pieces.
struct Inner {
  archive *outer;
  std::array<char, 65536> buffer;
  std::string failure;
};

la_ssize_t feed(archive *, void *data, const void **piece) {
  Inner &inner = *static_cast<Inner *>(data);
  *piece = inner.buffer.data();
  try {
    return static_cast<la_ssize_t>(read_some(inner.outer, inner.buffer.data(), inner.buffer.size()));
  } catch (const BrokenArchive &broken) {
    inner.failure = broken.what();
    return -1;
  }
}

void visit_data_of_package(archive *package, const ArchiveVisitor &visitor) {
  const auto inner = std::make_unique<Inner>();
  inner->outer = package;
  const Archive data = make_archive();
  // The compressions that dpkg reads. libarchive reads others by running an external program.
  archive_read_support_filter_gzip(data.get());
  archive_read_support_filter_xz(data.get());
  archive_read_support_filter_zstd(data.get());
  archive_read_support_filter_bzip2(data.get());
  archive_read_support_format_tar(data.get());
  try {
    require(data.get(), archive_read_open(data.get(), inner.get(), nullptr, feed, nullptr));
    visit_members(data.get(), visitor);
  } catch (const BrokenArchive &) {
    if (inner->failure.empty()) throw;
    throw BrokenArchive(inner->failure);
  }
}

void visit_package(archive *package, const ArchiveVisitor &visitor) {
  while (archive_entry *entry = next(package))
    if (name_of(entry).starts_with("data.tar")) return visit_data_of_package(package, visitor);
  throw BrokenArchive("has no data archive");
}

}  // namespace

bool reads_archives() { return true; }

void visit_archive(const std::filesystem::path &path, const ArchiveVisitor &visitor) {
  const bool is_package = path.extension() == ".deb";
  const Archive source = make_archive();
  if (is_package)
    archive_read_support_format_ar(source.get());
  else
    // Reads the central directory at the end of the file, so a truncated file fails.
    archive_read_support_format_zip_seekable(source.get());
  require(source.get(), archive_read_open_filename(source.get(), path.c_str(), 65536));
  if (is_package)
    visit_package(source.get(), visitor);
  else
    visit_members(source.get(), visitor);
}

#else

bool reads_archives() { return false; }

void visit_archive(const std::filesystem::path &, const ArchiveVisitor &) {
  throw BrokenArchive(
      "is an archive, and this build of cushim cannot read archives: it was built without libarchive");
}

#endif

}  // namespace cushim::command
