// SPDX-License-Identifier: Apache-2.0
// Formats calls as text: arguments by name, handles and memory by stable names, enumerators and flags by
// name.
#pragma once

#include <cushim/trace/trace.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "type.hpp"

namespace cushim::trace {

// Numbers handles and allocations of each kind in order of their first appearance: "stream#3", or
// "stream#3 \"upload\"" if the program named it. Functions and kernels have the names by which the program
// found them. A handle that is created again after it was destroyed gets a new number. Calls must be added in
// their order.
class Names {
 public:
  // Returns the name of a handle.
  std::string of_handle(const char *noun, std::uint64_t bits);
  // Names an object.
  void give(const GivenName &given);
  // Returns "memory#2 + 256" for an address in known memory, else the address as a number.
  std::string of_address(std::uint64_t address) const;

  // add() numbers the objects that a call creates; remove() forgets those that it destroys. Call remove()
  // after the text of the call was made.
  void add(const Call &call);
  void remove(const Call &call);

 private:
  struct Memory {
    std::uint64_t size = 0;
    unsigned number = 0;
  };
  struct Handle {
    unsigned number = 0;
    std::string text{};  // that the program gave to it; empty: none
  };
  void add_found(const Call &call);

  std::map<std::pair<std::string_view, std::uint64_t>, Handle> handles_;
  std::map<std::string_view, unsigned> last_;
  std::map<std::uint64_t, Memory> memory_;
};

// An argument as text.
struct Word {
  std::string_view name;
  std::string value;                 // what the program passed
  std::optional<std::string> out{};  // what the call wrote
};

// Returns the arguments of a call as text. names must contain the objects that the call created.
std::vector<Word> words_of(const Call &call, Names &names);

// Returns the bytes that an argument points to, after the call; data() is null if they were not copied.
std::string_view value_behind(const Call &call, std::size_t argument);

// Returns the first eight bytes as a little-endian number; missing bytes are 0.
inline std::uint64_t bits_of(std::string_view bytes) {
  std::uint64_t bits = 0;
  bytes.copy(reinterpret_cast<char *>(&bits), sizeof bits);
  return bits;
}

// Returns the first 8 bytes of an argument as a number; 0 if the call has no such argument.
inline std::uint64_t bits_of(const Call &call, std::size_t argument) {
  const Row &row = row_of(call.slot);
  return argument < row.parameters.size() ? call.words[row.parameters[argument].word] : 0;
}

// Calls visit for each call, in order, with its arguments as text.
void for_each_call(const Trace &trace,
                   const std::function<void(const Call &call, const std::vector<Word> &words)> &visit);

// The notes of a trace by their call.
class NotesOfCalls {
 public:
  explicit NotesOfCalls(const Trace &trace);
  // Returns the notes of a call, in order of their time.
  const std::vector<const Note *> &of(const Call &call) const;
  // Returns the notes that belong to no call of the trace.
  const std::vector<const Note *> &others() const noexcept { return others_; }

 private:
  std::unordered_map<std::uint64_t, std::vector<const Note *>> by_call_;
  std::vector<const Note *> others_;
};

// Returns "CUDA_ERROR_OUT_OF_MEMORY", or the number of an unknown result.
std::string result_name(CUresult result);

}  // namespace cushim::trace
