// SPDX-License-Identifier: Apache-2.0
// A zero-initialized array whose pages take no memory until they are written to.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace cushim::sim {

template <class T>
class Zeros {
  static_assert(std::is_trivial_v<T>);

 public:
  Zeros() = default;
  // Throws std::bad_alloc.
  explicit Zeros(std::size_t count) : bytes_(count * sizeof(T)) {
    if (count == 0) return;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *const place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    values_ = static_cast<T *>(place);
  }
  Zeros(Zeros &&other) noexcept
      : values_(std::exchange(other.values_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Zeros &operator=(Zeros &&other) noexcept {
    std::swap(values_, other.values_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Zeros() {
    if (values_ != nullptr) munmap(values_, bytes_);
  }

  T &operator[](std::size_t index) noexcept { return values_[index]; }
  const T &operator[](std::size_t index) const noexcept { return values_[index]; }

 private:
  T *values_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cushim::sim
