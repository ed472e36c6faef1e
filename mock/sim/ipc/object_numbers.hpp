// SPDX-License-Identifier: Apache-2.0
// The numbers of memory objects of a process. A handle of device memory (CUipcMemHandle) names a block by its
// number, so a handle of an ended block opens the block that has the number now. Measured on an H200, driver
// 580.159:
// - A new object has the lowest free number.
// - A block of device memory, a chunk of pinned memory, registered memory, the memory of a pool, and blocks
//   that another process has exported have two numbers each, the second for their mapping. Physical memory
//   has one, each of its mappings another.
// - Streams, events and managed memory have none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cushim::sim {

class ObjectNumbers {
 public:
  static constexpr std::uint32_t kCount = 1 << 18;
  static constexpr std::uint32_t kNone = 0;  // of an object beyond that number, which cannot be exported
  // One bit for each number: whether an object has it.
  using Taken = std::array<std::atomic<std::uint64_t>, kCount / 64>;

  ObjectNumbers() { take(); }  // kNone
  ObjectNumbers(const ObjectNumbers &) = delete;
  ObjectNumbers &operator=(const ObjectNumbers &) = delete;

  // Returns the lowest free number; kNone if there is none.
  std::uint32_t take() noexcept;
  void give_back(std::uint32_t number) noexcept;
  // Keeps `taken`, which other processes read, up to date.
  void publish(std::shared_ptr<Taken> taken) noexcept;

  static bool is_taken(const Taken &taken, std::uint32_t number) noexcept {
    return (taken[number / 64] >> number % 64 & 1) != 0;
  }

 private:
  void set(std::size_t word, std::uint64_t bits) noexcept;

  std::array<std::uint64_t, kCount / 64> taken_{};
  std::size_t first_free_ = 0;  // no word before this one has a free number
  std::shared_ptr<Taken> published_;
};

// The numbers of an object with a mapping.
struct NumberPair {
  std::uint32_t object, mapping;
};
inline NumberPair take_pair(ObjectNumbers &numbers) noexcept {
  const std::uint32_t object = numbers.take();
  return {object, numbers.take()};
}
inline void give_back(ObjectNumbers &numbers, const NumberPair &pair) noexcept {
  numbers.give_back(pair.object);
  numbers.give_back(pair.mapping);
}

// Has numbers for its lifetime.
class NumberHold {
 public:
  NumberHold() = default;
  NumberHold(ObjectNumbers &numbers, const NumberPair &pair) noexcept : numbers_(&numbers), pair_(pair) {}
  // Takes one number.
  explicit NumberHold(ObjectNumbers &numbers) noexcept
      : NumberHold(numbers, {numbers.take(), ObjectNumbers::kNone}) {}
  NumberHold(NumberHold &&other) noexcept
      : numbers_(std::exchange(other.numbers_, nullptr)), pair_(other.pair_) {}
  NumberHold &operator=(NumberHold &&other) noexcept {
    std::swap(numbers_, other.numbers_);
    std::swap(pair_, other.pair_);
    return *this;
  }
  ~NumberHold() {
    if (numbers_ != nullptr) give_back(*numbers_, pair_);
  }

  std::uint32_t object() const noexcept { return pair_.object; }

 private:
  ObjectNumbers *numbers_ = nullptr;
  NumberPair pair_{};
};

}  // namespace cushim::sim
