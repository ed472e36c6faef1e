// SPDX-License-Identifier: Apache-2.0
// The handles that programs hold. A handle tells its kind and is never used again, so that a destroyed
// one and one of another kind are found out.
#pragma once

#include <cuda.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cushim::sim {

enum class Kind : std::uint8_t { context = 1, stream, event, pool, array, mipmapped_array };

const char *name_of(Kind kind) noexcept;

struct Object {
  explicit Object(Kind kind) : kind(kind) {}
  virtual ~Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const Kind kind;
  std::uintptr_t handle = 0;
};

class Handles {
 public:
  // Takes an object and gives it its handle.
  template <std::derived_from<Object> T>
  T &add(std::unique_ptr<T> object) {
    T &added = *object;
    added.handle = (static_cast<std::uintptr_t>(added.kind) << 40) | (++last_ << 4);
    objects_.emplace(added.handle, std::move(object));
    return added;
  }

  void erase(const Object &object) { objects_.erase(object.handle); }

  // Forgets the handle and gives the object back.
  template <std::derived_from<Object> T>
  std::unique_ptr<T> take(T &object) {
    auto node = objects_.extract(object.handle);
    return std::unique_ptr<T>(static_cast<T *>(node.mapped().release()));
  }

  // Null if the handle names no living object of this kind; why says then what it names.
  template <class T>
  T *find(const void *handle) const {
    const auto place = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return place != objects_.end() && place->second->kind == T::kKind ? static_cast<T *>(place->second.get())
                                                                      : nullptr;
  }

  // "was destroyed", "is a stream", "was never made"; for a handle that find() did not find.
  const char *why_not(const void *handle, Kind wanted) const;

  template <class T, class Visit>
  void for_each(Visit visit) const {
    for (const auto &[handle, object] : objects_)
      if (object->kind == T::kKind) visit(static_cast<T &>(*object));
  }

 private:
  std::uintptr_t last_ = 0;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Object>> objects_;
};

}  // namespace cushim::sim
