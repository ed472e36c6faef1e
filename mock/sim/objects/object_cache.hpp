// SPDX-License-Identifier: Apache-2.0
// A cache of destroyed objects, for types that programs create and destroy often: creating the next object
// allocates no memory.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace cushim::sim {

template <class T>
class ObjectCache {
 public:
  // Returns a default-constructed object.
  std::unique_ptr<T> make() {
    if (spares_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> spare = std::move(spares_.back());
    spares_.pop_back();
    return spare;
  }

  // Destroys the object and keeps its memory for make().
  void keep(std::unique_ptr<T> object) {
    static_assert(std::is_final_v<T> && std::is_nothrow_default_constructible_v<T>);
    if (spares_.size() == kMost) return;
    std::destroy_at(object.get());
    std::construct_at(object.get());
    spares_.push_back(std::move(object));
  }

 private:
  // No cache under AddressSanitizer, so that it detects a use after destruction.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kMost = 0;
#elif defined(__has_feature)
  static constexpr std::size_t kMost = __has_feature(address_sanitizer) ? 0 : 64;
#else
  static constexpr std::size_t kMost = 64;
#endif
  std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace cushim::sim
