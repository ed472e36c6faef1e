// SPDX-License-Identifier: Apache-2.0
// Values of a walk's calls, and their text.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <typeinfo>
#include <utility>

namespace differential {

// A random number generator with the same results for every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // Returns a number from 0 to n - 1.
  unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }
  bool once_in(unsigned n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<unsigned>(values.size()))];
  }

 private:
  std::uint64_t state_;
};

// A value, and the expression for it in the program's text.
template <class T>
struct Argument {
  T value;
  std::string text;
  std::string declaration{};  // of the variable in `text`, if only this call uses it
};
template <class T>
Argument(T, std::string, std::string = {}) -> Argument<T>;

// Returns the handle of a living object as an argument: of the first one from a random index on; null if
// there is none. `slots` has the name `name` in the program's text.
template <class Slots>
auto a_living(Dice &dice, const Slots &slots, const std::string &name)
    -> Argument<decltype(slots.front().handle)> {
  const auto count = static_cast<unsigned>(slots.size()), first = dice.below(count);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned k = (first + i) % count;
    if (slots[k].handle != nullptr) return {slots[k].handle, name + "[" + std::to_string(k) + "]"};
  }
  return {nullptr, "nullptr"};
}

Argument<std::nullptr_t> null();
Argument<unsigned> number(unsigned value);
Argument<int> integer(int value);
Argument<std::size_t> bytes(std::size_t value);
// Returns an address that is not mapped.
Argument<CUdeviceptr> nowhere_at(CUdeviceptr address);

// Returns a type's name as C++ spells it.
std::string spelling_of(const std::type_info &type);

// A variable that a call may write. Its bytes are not zero initially, so that an answer also shows whether a
// failed call has written to it.
template <class T>
class Result {
 public:
  explicit Result(std::string name) : name_(std::move(name)), expression_(name_) {
    std::memset(&value, kUntouched, sizeof value);
  }
  Argument<T *> argument() { return {&value, "&" + name_, spelling_of(typeid(T)) + " " + name_ + "{}"}; }
  // Excludes bits from the comparison.
  void leave_out(T bits, const std::string &text) {
    if (!is_set()) return;
    value &= static_cast<T>(~bits);
    expression_ = "(" + name_ + " & ~" + text + ")";
  }
  const std::string &expression() const { return expression_; }
  bool is_set() const {
    const auto *const bytes = reinterpret_cast<const unsigned char *>(&value);
    return std::any_of(bytes, bytes + sizeof value, [](unsigned char byte) { return byte != kUntouched; });
  }
  T value;

 private:
  static constexpr unsigned char kUntouched = 0x5a;
  std::string name_, expression_;
};

}  // namespace differential
