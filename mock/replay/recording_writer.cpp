// SPDX-License-Identifier: Apache-2.0
#include "recording_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "process.hpp"
#include "zstd.hpp"

namespace cushim::replay {
namespace {

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::atomic<std::uint64_t> writers{0};

}  // namespace

BlockFile::BlockFile(const std::string &file, FileHeader header) : name_(std::filesystem::absolute(file)) {
  header.size = sizeof header;
  header.checksum = hash(checked_part(header));
  const int descriptor = open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat status {};
  const bool is_written = descriptor >= 0 && fstat(descriptor, &status) == 0 &&
                          write_all(descriptor, {reinterpret_cast<const char *>(&header), sizeof header});
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!is_written)
    throw std::system_error(error, std::generic_category(), "cannot write the recording to " + file);
  inode_ = status.st_ino;
}

bool BlockFile::append(unsigned thread, pid_t system_thread, std::span<const char> piece) {
  const std::lock_guard lock(mutex_);
  BlockHeader header{.magic = kBlockMagic,
                     .size = static_cast<std::uint32_t>(piece.size()),
                     .thread = thread,
                     .system_thread = system_thread};
  // A compressed piece that is not smaller is of no use.
  compressed_.resize(piece.size());
  const Zstd *const zstd = Zstd::get();
  const std::size_t size = zstd != nullptr ? zstd->compress(compressed_, piece) : 0;
  header.codec = size != 0 ? Codec::zstd : Codec::none;
  return write(header, size != 0 ? std::span<const char>(compressed_).first(size) : piece);
}

bool BlockFile::append_end() {
  const std::lock_guard lock(mutex_);
  return write({.magic = kEndMagic}, {});
}

// Requires the mutex.
bool BlockFile::write(BlockHeader header, std::span<const char> stored) {
  if (has_failed_) return false;
  header.stored = static_cast<std::uint32_t>(stored.size());
  header.checksum = hash({stored.data(), stored.size()}, hash(checked_part(header)));
  const int descriptor = open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  struct stat status {};
  bool is_written = descriptor >= 0 && fstat(descriptor, &status) == 0;
  if (is_written && status.st_ino != inode_) {
    is_written = false;
    errno = ESTALE;
  }
  is_written = is_written &&
               write_all(descriptor, {reinterpret_cast<const char *>(&header), sizeof header}) &&
               write_all(descriptor, {stored.data(), stored.size()});
  has_failed_ = !is_written;
  if (has_failed_)
    std::fprintf(stderr, "cushim: the recording ends here, because %s cannot grow: %s\n", name_.c_str(),
                 std::strerror(errno));
  if (descriptor >= 0) close(descriptor);
  return is_written;
}

void ThreadStream::make_room(std::size_t size) {
  if (used_ + size > kBlockSize) flush();
  if (used_ + size > bytes_.size())
    bytes_.resize(std::min(kBlockSize, std::max({std::size_t{4096}, 2 * bytes_.size(), used_ + size})));
}

void ThreadStream::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kBlockSize / 2);
    char *const to = room(piece);
    std::memcpy(to, bytes.data(), piece);
    commit(to + piece);
    bytes.remove_prefix(piece);
  }
}

void ThreadStream::flush() {
  if (used_ != 0) file_.append(thread_, system_thread_, std::span<const char>(bytes_).first(used_));
  used_ = 0;
}

thread_local Writer::OfThread Writer::of_thread_;

Writer::Writer(const std::string &file, const FileHeader &header) : number_(++writers), file_(file, header) {}

ThreadStream &Writer::stream() { return of_thread_.writer == number_ ? *of_thread_.stream : find_stream(); }

ThreadStream &Writer::find_stream() {
  const std::lock_guard lock(mutex_);
  auto &stream = streams_[trace::number_of_this_thread()];
  if (stream == nullptr)
    stream = std::make_unique<ThreadStream>(file_, static_cast<unsigned>(streams_.size()),
                                            static_cast<pid_t>(syscall(SYS_gettid)));
  of_thread_ = {number_, stream.get()};
  return *stream;
}

void Writer::flush() {
  const std::lock_guard lock(mutex_);
  for (const auto &[thread, stream] : streams_) {
    const std::lock_guard stream_lock(stream->mutex);
    stream->flush();
  }
  file_.append_end();
}

}  // namespace cushim::replay
