// SPDX-License-Identifier: Apache-2.0
// Where in a program a call of the driver was made.
#pragma once

#include <span>
#include <string>

namespace cushim::check {

// A call stack. As small as a pointer: stacks are kept once, for the life of the process, so places that are
// equal are the same stack.
class Place {
 public:
  Place() noexcept = default;

  // Of the call of the driver that this thread is inside of, as a hook is: the program's functions alone,
  // those of cushim left out. Outside of a call: of the caller. Cheap where the same stack calls again.
  [[gnu::noinline]] static Place of_call();

  // Return addresses, innermost first; at most 16.
  std::span<void *const> frames() const noexcept;

  // A line a function, innermost first: "    #0 main (program+0x1234)". The number is what addr2line takes
  // for the file, and belongs to the call. Functions of a program have names here if it exports them
  // (-rdynamic).
  std::string in_words() const;

  bool operator==(const Place &) const noexcept = default;

 private:
  friend struct Stacks;
  struct Stack;
  const Stack *stack_ = nullptr;
};

}  // namespace cushim::check
