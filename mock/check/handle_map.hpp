// SPDX-License-Identifier: Apache-2.0
// A map by handle. Calls that make and destroy things look here several times each, and std::unordered_map
// divides at every look, some ten nanoseconds: here a place is found by a multiplication.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cushim::check {

// No handle is 0. Places are looked at one after the other from the one that the handle's bits name; a
// quarter of them at least is empty.
template <class Value>
class HandleMap {
 public:
  // Null if there is none. Until the map is changed.
  const Value *find(std::uint64_t handle) const noexcept {
    const Place &place = places_[place_of(handle)];
    return place.handle == 0 ? nullptr : &place.value;
  }
  Value *find(std::uint64_t handle) noexcept {
    return const_cast<Value *>(std::as_const(*this).find(handle));
  }

  // Made if there is none. Until the map is changed.
  Value &operator[](std::uint64_t handle) {
    if ((size_ + 1) * 4 > (mask_ + 1) * 3) grow();
    Place &place = places_[place_of(handle)];
    if (std::exchange(place.handle, handle) == 0) ++size_;
    return place.value;
  }

  void erase(std::uint64_t handle) noexcept {
    erase(handle, [](const Value &) { return true; });
  }
  // If it is the one.
  template <class IsIt>
  void erase(std::uint64_t handle, IsIt is_it) noexcept {
    std::size_t hole = place_of(handle);
    if (places_[hole].handle == 0 || !is_it(std::as_const(places_[hole].value))) return;
    --size_;
    // What could lie in the hole moves there, so that no look ends at it too early.
    for (std::size_t next = after(hole); places_[next].handle != 0; next = after(next)) {
      const std::size_t from_home = (next - home_of(places_[next].handle)) & mask_;
      if (from_home >= ((next - hole) & mask_)) {
        places_[hole] = std::move(places_[next]);
        hole = next;
      }
    }
    places_[hole] = {};
  }

  std::size_t size() const noexcept { return size_; }

  // In no order.
  template <class Visit>
  void for_each(Visit visit) {
    for (Place &place : places_)
      if (place.handle != 0) visit(place.value);
  }

 private:
  static constexpr std::size_t kAtFirst = 64;

  struct Place {
    std::uint64_t handle = 0;  // 0: empty
    Value value{};
  };

  std::size_t after(std::size_t place) const noexcept { return (place + 1) & mask_; }
  std::size_t home_of(std::uint64_t handle) const noexcept {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>((handle * kGoldenRatio) >> shift_);
  }
  // Where it is, or would be.
  std::size_t place_of(std::uint64_t handle) const noexcept {
    std::size_t place = home_of(handle);
    while (places_[place].handle != 0 && places_[place].handle != handle) place = after(place);
    return place;
  }
  [[gnu::cold]] void grow() {
    std::vector<Place> smaller(places_.size() * 2);
    smaller.swap(places_);
    mask_ = places_.size() - 1;
    --shift_;
    for (Place &place : smaller)
      if (place.handle != 0) places_[place_of(place.handle)] = std::move(place);
  }

  std::vector<Place> places_{std::vector<Place>(kAtFirst)};
  std::size_t mask_ = kAtFirst - 1;
  int shift_ = 64 - std::countr_zero(kAtFirst);
  std::size_t size_ = 0;
};

}  // namespace cushim::check
