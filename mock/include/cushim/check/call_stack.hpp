// SPDX-License-Identifier: Apache-2.0
// Call stacks of driver calls.
#pragma once

#include <span>
#include <string>

namespace cushim::check {

// A call stack. As small as a pointer: each distinct stack is stored once, until the process ends, so equal
// call stacks compare as equal pointers.
class CallStack {
 public:
  CallStack() noexcept = default;

  // Returns the call stack of the driver call that the calling thread is inside of (as in a hook): only the
  // functions of the program, without those of cushim. Outside a driver call, the call stack of the caller.
  // Repeated calls with the same stack are cheap (cached for each thread).
  [[gnu::noinline]] static CallStack of_call();

  // Returns the return addresses, innermost first; at most 16.
  std::span<void *const> frames() const noexcept;

  // Returns whether equal call stacks mean equal source lines. False in a Python program whose interpreter
  // does not expose its line numbers.
  bool is_exact() const noexcept;

  // Returns one line for each function, innermost first: "    #0 main (program+0x1234)". In a Python
  // program the Python functions come first: "    #0 load (/srv/train.py:12)". The offset is that of the
  // call instruction in the file, as addr2line takes it. Functions of an executable have names only if it
  // exports them (-rdynamic).
  std::string to_text() const;

  bool operator==(const CallStack &) const noexcept = default;

 private:
  friend struct Stacks;
  struct Stack;
  const Stack *stack_ = nullptr;
};

}  // namespace cushim::check
