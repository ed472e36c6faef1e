// SPDX-License-Identifier: Apache-2.0
// Shared memory: an anonymous file (memfd) without a name in a file system. Other processes open it through
// /proc of the process that made it. The kernel frees it when the last process closes and unmaps it.
#pragma once

#include <cstddef>
#include <utility>

#include "ipc/process.hpp"

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

  // Creates a file of zeros. It takes no memory until it is written to. Returns an empty object on failure,
  // with the reason in errno.
  static SharedFile make(std::size_t size);
  // Opens the file with this descriptor number in another process. Returns an empty object if there is no
  // such file or this user may not open it, with the reason in errno. The file is sealed against shrinking,
  // so that a mapping never faults.
  static SharedFile open(const Process &process, int number);
  // Opens the file of a descriptor that the program received, as open() does; the descriptor stays the
  // program's. Returns an empty object for a file of another kind, with the reason in errno.
  static SharedFile duplicate(int number);
  // Returns whether a process may shrink the file.
  static bool can_shrink(int number);

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  std::size_t size() const noexcept { return size_; }

  // Returns a new descriptor of the file, which the caller closes; -1 on failure, with the reason in errno.
  int new_descriptor() const;

  // Maps a part of the file, at `at` if it is not null. Returns null on failure.
  std::byte *map(std::size_t offset, std::size_t size, std::byte *at = nullptr) const;

 private:
  SharedFile(int number, std::size_t size) noexcept : number_(number), size_(size) {}

  int number_ = -1;
  std::size_t size_ = 0;
};

}  // namespace cushim::sim
