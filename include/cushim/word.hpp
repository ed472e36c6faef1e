// SPDX-License-Identifier: Apache-2.0
// Words in memory for which streams wait or which they write, values for them, and conditions.
#pragma once

#include <cushim/device_ptr.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace cushim {
inline namespace v1 {

namespace detail {

// The word type that a stream uses for elements of T. T is an integer of 32 or 64 bits.
template <class T>
using WordElement = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class U, class T>
concept SameWord = std::integral<U> && !std::is_const_v<U> && sizeof(U) == sizeof(T);

}  // namespace detail

// The address of a word of 32 or 64 bits for waits and writes of streams: device memory, or page-locked host
// memory (PinnedBuffer::device_ptr()). The driver rejects null, misaligned and managed addresses.
template <class T>
class Word {
  static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>,
                "cushim: streams wait on words of 32 or 64 bits: std::uint32_t or std::uint64_t");

 public:
  explicit constexpr Word(CUdeviceptr address) noexcept : address_(address) {}
  // Converts from the address of any integer of this width, signed or unsigned.
  template <detail::SameWord<T> U>
  constexpr Word(DevicePtr<U> pointer) noexcept : address_(pointer.address()) {}

  constexpr CUdeviceptr address() const noexcept { return address_; }

 private:
  CUdeviceptr address_;
};
template <class U>
Word(DevicePtr<U>) -> Word<detail::WordElement<U>>;

// A value to write to a word of type T: an integer that is not wider than the word. Narrower integers are
// converted as in C++, so -1 sets all bits.
template <class T>
class WordValue {
 public:
  template <class U>
  constexpr WordValue(U value) noexcept : value_(static_cast<T>(value)) {
    static_assert(std::is_integral_v<U>, "cushim: streams write integers to words");
    static_assert(
        !std::is_integral_v<U> || sizeof(U) <= sizeof(T),
        "cushim: the value is wider than the word that it is written to: cast it, or use a wider word");
  }
  constexpr T value() const noexcept { return value_; }

 private:
  T value_;
};

// A comparison of a word with a value that is not wider than the word.
template <class T>
class ValueCondition {
 public:
  constexpr ValueCondition(T value, CUstreamWaitValue_flags comparison) noexcept
      : value_(value), comparison_(comparison) {}
  template <class U>
  constexpr ValueCondition(const ValueCondition<U> &narrower) noexcept
      : value_(static_cast<T>(narrower.value())), comparison_(narrower.comparison()) {
    static_assert(
        sizeof(U) <= sizeof(T),
        "cushim: the value is wider than the word that it is compared with: cast it, or use a wider word");
  }

  constexpr T value() const noexcept { return value_; }
  constexpr CUstreamWaitValue_flags comparison() const noexcept { return comparison_; }

 private:
  T value_;
  CUstreamWaitValue_flags comparison_;
};

// Returns the condition word >= value, compared as a signed difference, so counters may wrap around.
template <std::integral T>
constexpr ValueCondition<T> geq(T value) noexcept {
  return {value, CU_STREAM_WAIT_VALUE_GEQ};
}
// Returns the condition word == value.
template <std::integral T>
constexpr ValueCondition<T> equal(T value) noexcept {
  return {value, CU_STREAM_WAIT_VALUE_EQ};
}
// Returns the condition (word & bits) != 0.
template <std::integral T>
constexpr ValueCondition<T> any_bit(T bits) noexcept {
  return {bits, CU_STREAM_WAIT_VALUE_AND};
}
// Returns the condition ~(word | bits) != 0, which some devices lack: see mem_op_support().
template <std::integral T>
constexpr ValueCondition<T> nor(T bits) noexcept {
  return {bits, CU_STREAM_WAIT_VALUE_NOR};
}

}  // namespace v1
}  // namespace cushim
