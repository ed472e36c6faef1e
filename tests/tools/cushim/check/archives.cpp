// SPDX-License-Identifier: Apache-2.0
#include "archives.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <stdexcept>

namespace cushim::command {
namespace {

using Archive = std::unique_ptr<archive, decltype(&archive_write_free)>;
using Entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

void require(archive *target, la_ssize_t result) {
  if (result < 0) throw std::runtime_error(archive_error_string(target));
}

void add(archive *target, const std::string &name, const std::string &bytes) {
  const Entry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  require(target, archive_write_header(target, entry.get()));
  require(target, archive_write_data(target, bytes.data(), bytes.size()));
}

la_ssize_t append(archive *, void *data, const void *piece, std::size_t size) {
  static_cast<std::string *>(data)->append(static_cast<const char *>(piece), size);
  return static_cast<la_ssize_t>(size);
}

std::string tar(const Members &members, Compression compression) {
  std::string bytes;
  const Archive target(archive_write_new(), archive_write_free);
  archive_write_set_bytes_in_last_block(target.get(), 1);  // no padding
  require(target.get(), archive_write_set_format_pax_restricted(target.get()));
  if (compression == Compression::gzip) require(target.get(), archive_write_add_filter_gzip(target.get()));
  if (compression == Compression::xz) require(target.get(), archive_write_add_filter_xz(target.get()));
  if (compression == Compression::zstd) require(target.get(), archive_write_add_filter_zstd(target.get()));
  require(target.get(), archive_write_open(target.get(), &bytes, nullptr, append, nullptr));
  for (const auto &[name, content] : members) add(target.get(), name, content);
  require(target.get(), archive_write_close(target.get()));
  return bytes;
}

const char *suffix(Compression compression) {
  constexpr const char *suffixes[] = {"", ".gz", ".xz", ".zst"};
  return suffixes[static_cast<int>(compression)];
}

}  // namespace

void write_wheel(const std::string &path, const Members &members) {
  const Archive target(archive_write_new(), archive_write_free);
  require(target.get(), archive_write_set_format_zip(target.get()));
  require(target.get(), archive_write_open_filename(target.get(), path.c_str()));
  for (const auto &[name, bytes] : members) add(target.get(), name, bytes);
  require(target.get(), archive_write_close(target.get()));
}

void write_package(const std::string &path, const Members &members, Compression compression) {
  const Archive target(archive_write_new(), archive_write_free);
  require(target.get(), archive_write_set_format_ar_bsd(target.get()));
  require(target.get(), archive_write_open_filename(target.get(), path.c_str()));
  add(target.get(), "debian-binary", "2.0\n");
  add(target.get(), "control.tar", "");
  add(target.get(), std::string("data.tar") + suffix(compression), tar(members, compression));
  require(target.get(), archive_write_close(target.get()));
}

}  // namespace cushim::command
