// SPDX-License-Identifier: Apache-2.0
// The handles of the simulated driver. A handle encodes the kind of its object and is never reused, so that
// handles of destroyed objects and of other kinds are detected.
#pragma once

#include <cuda.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "objects/links.hpp"

namespace cushim::sim {

enum class Kind : std::uint8_t {
  context = 1,
  stream,
  event,
  pool,
  array,
  mipmapped_array,
  module,
  function,
  library,
  kernel,
  link,
  physical_memory,
  graph,
  graph_node,
  executable_graph,
  user_object,
  resource_descriptor,
  green_context,
  texture,
  surface,
  texture_reference,
  surface_reference,
  external_memory,
  external_semaphore,
  graphics_resource,
};
inline constexpr Kind kLastKind = Kind::graphics_resource;

const char *name_of(Kind kind) noexcept;

// An element of a circular list, or the list itself. The destructor unlinks it.
class ListHook : public ListLink {
 public:
  // Requires that this element is not in a list.
  void join(ListHook &list) noexcept { join_before(list); }

 protected:
  ~ListHook() { leave(); }
};

struct Object : ListHook {
  explicit Object(Kind kind) noexcept : kind(kind) {}
  virtual ~Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const Kind kind;
  std::uintptr_t handle = 0;
};

// The base of the objects of one kind.
template <Kind kind_of_object>
struct ObjectOf : Object {
  static constexpr Kind kKind = kind_of_object;
  ObjectOf() noexcept : Object(kKind) {}
};

// A table of objects. A handle encodes the index of a slot and the slot's generation, so that a lookup is
// O(1).
class Handles {
 public:
  // Reserves slots for `count` more objects, so that the next `count` calls of add() do not throw. Throws
  // std::bad_alloc if there is no memory or all slots are taken.
  void reserve(std::size_t count) {
    for (std::size_t index = first_free_; index != kNone && count != 0; index = slots_[index].next_free)
      --count;
    for (; count != 0; --count) {
      if (slots_.size() == kMost) throw std::bad_alloc();
      slots_.emplace_back();
      slots_.back().next_free = std::exchange(first_free_, static_cast<std::uint32_t>(slots_.size() - 1));
    }
  }

  // Stores an object and sets its handle. Throws std::bad_alloc if there is no memory or all slots are taken.
  template <std::derived_from<Object> T>
  T &add(std::unique_ptr<T> object) {
    if (first_free_ == kNone) reserve(1);
    T &added = *object;
    const std::uint32_t index = first_free_;
    Slot &slot = slots_[index];
    first_free_ = slot.next_free;
    ++slot.generation;
    added.handle = (static_cast<std::uintptr_t>(added.kind) << 44) | (std::uintptr_t{slot.generation} << 26) |
                   (std::uintptr_t{index} << 4);
    slot.object = std::move(object);
    return added;
  }

  // Destroys an object. `by` names the call that destroys it, for reports.
  void erase(const Object &object, const char *by = nullptr) { extract(object, by); }

  // Removes an object from the table and returns it.
  template <std::derived_from<Object> T>
  std::unique_ptr<T> take(T &object, const char *by = nullptr) {
    return std::unique_ptr<T>(static_cast<T *>(extract(object, by).release()));
  }

  // Returns null if the handle names no live object of this kind; reason_not_found() returns the reason.
  template <class T>
  T *find(const void *handle) const {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    const std::size_t index = index_of(value);
    if (index >= slots_.size()) return nullptr;
    Object *const object = slots_[index].object.get();
    return object != nullptr && object->handle == value && object->kind == T::kKind ? static_cast<T *>(object)
                                                                                    : nullptr;
  }

  // Returns the reason why find() returned null: "was destroyed by cuEventDestroy_v2", "is a stream", "was
  // never made".
  std::string reason_not_found(const void *handle, Kind wanted) const;
  bool was_made(const void *handle) const;  // returns whether add() ever returned this handle

  template <class T, class Visit>
  void for_each(Visit visit) const {
    for (const Slot &slot : slots_)
      if (slot.object != nullptr && slot.object->kind == T::kKind) visit(static_cast<T &>(*slot.object));
  }

 private:
  static constexpr std::uint32_t kLastGeneration = (1u << 18) - 1;
  static constexpr std::uint32_t kMost = 1u << 22;  // live objects at the same time
  static constexpr std::uint32_t kNone = kMost;

  struct Slot {
    std::unique_ptr<Object> object;
    const char *ended_by = nullptr;  // the call that destroyed the slot's last object
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;  // the next free slot, if this slot is free
  };

  static std::size_t index_of(std::uintptr_t handle) { return (handle >> 4) & (kMost - 1); }
  static std::uint32_t generation_of(std::uintptr_t handle) {
    return static_cast<std::uint32_t>(handle >> 26) & kLastGeneration;
  }

  std::unique_ptr<Object> extract(const Object &object, const char *by) {
    const std::size_t index = index_of(object.handle);
    Slot &slot = slots_[index];
    slot.ended_by = by;
    // A slot with the last generation is not reused: its next handle would repeat an old one.
    if (slot.generation < kLastGeneration)
      slot.next_free = std::exchange(first_free_, static_cast<std::uint32_t>(index));
    return std::move(slot.object);
  }

  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNone;
};

}  // namespace cushim::sim
