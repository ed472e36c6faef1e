// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: an anonymous file, without a name in any file system. Others reach it through
// the process that made it; the kernel frees it with the last process that has it.
#pragma once

#include <cstddef>
#include <utility>

#include "process.hpp"

namespace cushim::sim {

class SharedFile {
 public:
  SharedFile() = default;
  ~SharedFile();
  SharedFile(SharedFile &&other) noexcept
      : number_(std::exchange(other.number_, -1)), size_(std::exchange(other.size_, 0)) {}
  SharedFile &operator=(SharedFile &&other) noexcept {
    std::swap(number_, other.number_);
    std::swap(size_, other.size_);
    return *this;
  }

  // A new file of zeros, which takes no memory until it is written to. Empty if that fails; errno says why.
  static SharedFile make(std::size_t size);
  // The file that has this number in another process. Empty if it has no such file, or this user may not
  // open it; errno says which.
  static SharedFile open(const Process &process, int number);

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  std::size_t size() const noexcept { return size_; }

  // Maps a part of it, at a given place if that is not null. Null if that fails.
  std::byte *map(std::size_t offset, std::size_t size, std::byte *at = nullptr) const;

 private:
  SharedFile(int number, std::size_t size) noexcept : number_(number), size_(size) {}

  int number_ = -1;
  std::size_t size_ = 0;
};

}  // namespace cushim::sim
