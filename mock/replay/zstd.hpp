// SPDX-License-Identifier: Apache-2.0
// libzstd.so.1, loaded on first use: programs that record nothing do not need it.
#pragma once

#include <cushim/mock/mutex.hpp>

#include <cstddef>
#include <span>

namespace cushim::replay {

class Zstd {
 public:
  // Returns null if the library is not installed. Thread-safe, like the other functions.
  static const Zstd *get();

  // Compresses with the library's fast levels. Returns the number of bytes; 0 if they do not fit.
  std::size_t compress(std::span<char> to, std::span<const char> from) const;
  // Returns the number of bytes; 0 for data that cannot be decompressed or does not fit.
  std::size_t decompress(std::span<char> to, std::span<const char> from) const;

 private:
  Zstd() = default;
  std::size_t (*compress_)(void *context, void *to, std::size_t capacity, const void *from, std::size_t size,
                           int level) = nullptr;
  std::size_t (*decompress_)(void *to, std::size_t capacity, const void *from, std::size_t size) = nullptr;
  unsigned (*is_error_)(std::size_t code) = nullptr;
  void *context_ = nullptr;  // for compress(), which the mutex serializes
  mutable mock::Mutex mutex_;
};

}  // namespace cushim::replay
