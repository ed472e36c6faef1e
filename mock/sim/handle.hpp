// SPDX-License-Identifier: Apache-2.0
// The handles that programs hold. A handle tells its kind and is never used again, so that a destroyed
// one and one of another kind are found out.
#pragma once

#include <cuda.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cushim::sim {

enum class Kind : std::uint8_t { context = 1, stream, event, pool, array, mipmapped_array };

const char *name_of(Kind kind) noexcept;

struct Object {
  explicit Object(Kind kind) noexcept : kind(kind) {}
  virtual ~Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const Kind kind;
  std::uintptr_t handle = 0;
};

// A handle is a place in a table with how often the place has been given, so that finding is one look.
class Handles {
 public:
  // Takes an object and gives it its handle.
  template <std::derived_from<Object> T>
  T &add(std::unique_ptr<T> object) {
    T &added = *object;
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot &slot = slots_[index];
    ++slot.generation;
    added.handle = (static_cast<std::uintptr_t>(added.kind) << 44) | (std::uintptr_t{slot.generation} << 26) |
                   (std::uintptr_t{index} << 4);
    slot.object = std::move(object);
    return added;
  }

  // `by` is the call that destroys the object, for reports.
  void erase(const Object &object, const char *by = nullptr) { extract(object, by); }

  // Forgets the handle and gives the object back.
  template <std::derived_from<Object> T>
  std::unique_ptr<T> take(T &object, const char *by = nullptr) {
    return std::unique_ptr<T>(static_cast<T *>(extract(object, by).release()));
  }

  // Null if the handle names no living object of this kind; why_not() says then what it names.
  template <class T>
  T *find(const void *handle) const {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    const std::size_t index = index_of(value);
    if (index >= slots_.size()) return nullptr;
    Object *const object = slots_[index].object.get();
    return object != nullptr && object->handle == value && object->kind == T::kKind ? static_cast<T *>(object)
                                                                                    : nullptr;
  }

  // "was destroyed by cuEventDestroy_v2", "is a stream", "was never made"; for a handle that find() did not
  // find.
  std::string why_not(const void *handle, Kind wanted) const;
  bool was_made(const void *handle) const;  // by whatever call, alive or not

  template <class T, class Visit>
  void for_each(Visit visit) const {
    for (const Slot &slot : slots_)
      if (slot.object != nullptr && slot.object->kind == T::kKind) visit(static_cast<T &>(*slot.object));
  }

 private:
  static constexpr std::uint32_t kLastGeneration = (1u << 18) - 1;

  struct Slot {
    std::unique_ptr<Object> object;
    const char *ended_by = nullptr;  // the last call that destroyed an object here
    std::uint32_t generation = 0;
  };

  static std::size_t index_of(std::uintptr_t handle) { return (handle >> 4) & ((1u << 22) - 1); }
  static std::uint32_t generation_of(std::uintptr_t handle) {
    return static_cast<std::uint32_t>(handle >> 26) & kLastGeneration;
  }

  std::unique_ptr<Object> extract(const Object &object, const char *by) {
    const std::size_t index = index_of(object.handle);
    Slot &slot = slots_[index];
    slot.ended_by = by;
    // A place that has been given as often as can be told is not given again.
    if (slot.generation < kLastGeneration) free_.push_back(static_cast<std::uint32_t>(index));
    return std::move(slot.object);
  }

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace cushim::sim
