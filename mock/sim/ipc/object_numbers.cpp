// SPDX-License-Identifier: Apache-2.0
#include "ipc/object_numbers.hpp"

#include <algorithm>
#include <bit>

namespace cushim::sim {

void ObjectNumbers::set(std::size_t word, std::uint64_t bits) noexcept {
  taken_[word] = bits;
  if (published_ != nullptr) (*published_)[word] = bits;
}

std::uint32_t ObjectNumbers::take() noexcept {
  while (first_free_ != taken_.size() && taken_[first_free_] == ~std::uint64_t{0}) ++first_free_;
  if (first_free_ == taken_.size()) return kNone;
  const std::uint64_t bits = taken_[first_free_];
  const auto bit = static_cast<unsigned>(std::countr_one(bits));
  set(first_free_, bits | std::uint64_t{1} << bit);
  return static_cast<std::uint32_t>(first_free_ * 64 + bit);
}

void ObjectNumbers::give_back(std::uint32_t number) noexcept {
  if (number == kNone) return;
  const std::size_t word = number / 64;
  set(word, taken_[word] & ~(std::uint64_t{1} << number % 64));
  first_free_ = std::min(first_free_, word);
}

void ObjectNumbers::publish(std::shared_ptr<Taken> taken) noexcept {
  published_ = std::move(taken);
  for (std::size_t word = 0; word < taken_.size(); ++word)
    if (taken_[word] != 0) set(word, taken_[word]);
}

}  // namespace cushim::sim
