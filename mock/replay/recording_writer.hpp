// SPDX-License-Identifier: Apache-2.0
// Writes a recording: one stream of bytes for each thread, in blocks.
#pragma once

#include <sys/types.h>
#include <cushim/mock/mutex.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "option_values.hpp"
#include "pending_copies.hpp"
#include "recording_format.hpp"

namespace cushim::replay {

// The file. Opens it for each block, because a program may close all descriptors and use their numbers again.
class BlockFile {
 public:
  // Creates the file, or truncates it, and writes its header. Throws std::system_error.
  BlockFile(const std::string &file, FileHeader header);

  // Appends a block. Returns false, after one message on stderr, if the file cannot grow.
  bool append(unsigned thread, pid_t system_thread, std::span<const char> piece);
  // Appends the end mark. More blocks and another mark may follow.
  bool append_end();

 private:
  bool write(BlockHeader header, std::span<const char> stored);

  const std::string name_;
  ino_t inode_ = 0;
  mock::Mutex mutex_;  // guards the members below
  bool has_failed_ = false;
  std::vector<char> compressed_;
};

// The stream of one thread. Its functions require the mutex.
class ThreadStream {
 public:
  ThreadStream(BlockFile &file, unsigned thread, pid_t system_thread)
      : file_(file), thread_(thread), system_thread_(system_thread) {}

  // Returns space for `size` bytes, at most kBlockSize. commit() appends what was written there.
  char *room(std::size_t size) {
    if (used_ + size > bytes_.size()) make_room(size);
    return bytes_.data() + used_;
  }
  void commit(const char *end) noexcept { used_ = static_cast<std::size_t>(end - bytes_.data()); }
  void put(std::uint64_t number) { commit(put_number(room(kMostNumberSize), number)); }
  void put(std::string_view bytes);
  // Writes what is buffered to the file.
  void flush();

  mock::Mutex mutex;
  std::uint64_t sequence = 0;  // of the thread's last event
  std::int64_t time = 0;       // of the begin of its last call
  PendingCopies pending;
  // By argument: the options of the thread's call, as they were before it.
  std::map<std::uint8_t, std::vector<OptionValue>> options;

 private:
  void make_room(std::size_t size);

  BlockFile &file_;
  const unsigned thread_;
  const pid_t system_thread_;
  std::vector<char> bytes_;  // grows to kBlockSize
  std::size_t used_ = 0;
};

// The streams of all threads.
class Writer {
 public:
  Writer(const std::string &file, const FileHeader &header);

  // Returns the calling thread's stream.
  ThreadStream &stream();
  // Writes everything to the file, and an end mark.
  void flush();

 private:
  ThreadStream &find_stream();
  struct OfThread {
    std::uint64_t writer = 0;
    ThreadStream *stream = nullptr;
  };
  static thread_local OfThread of_thread_;

  const std::uint64_t number_;  // never reused
  BlockFile file_;
  mock::Mutex mutex_;                                               // guards the next
  std::map<std::uint64_t, std::unique_ptr<ThreadStream>> streams_;  // by thread
};

}  // namespace cushim::replay
