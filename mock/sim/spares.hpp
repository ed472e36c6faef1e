// SPDX-License-Identifier: Apache-2.0
// Objects that are not in use, for what programs make and destroy all the time: the next one needs no memory.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace cushim::sim {

template <class T>
class Spares {
 public:
  // As new.
  std::unique_ptr<T> make() {
    if (spares_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> spare = std::move(spares_.back());
    spares_.pop_back();
    return spare;
  }

  // Ends the object, and keeps its memory.
  void keep(std::unique_ptr<T> object) {
    static_assert(std::is_final_v<T> && std::is_nothrow_default_constructible_v<T>);
    if (spares_.size() == kMost) return;
    std::destroy_at(object.get());
    std::construct_at(object.get());
    spares_.push_back(std::move(object));
  }

 private:
  // None under the address sanitizer, so that it finds uses of what has ended.
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
