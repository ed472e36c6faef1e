// SPDX-License-Identifier: Apache-2.0
// The values of the options of the JIT compiler, of linkers and of libraries: an array of words, some of
// which point to memory.
#pragma once

#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::replay {

struct OptionValue {
  enum class Content : std::uint8_t {
    number,
    written_number,  // the call may write it, and it is the same in each run
    varying_number,  // the call may write it, and it differs from run to run
    log,             // the call writes a text
    texts,           // an array of pointers to texts
    addresses,       // an array of addresses of the host
    unknown          // points to a structure that is not recorded
  };
  Content content = Content::number;
  std::uint64_t word = 0;   // the number, or the address
  std::uint64_t count = 0;  // bytes of a log, elements of an array
  std::size_t size_at = 0;  // of a log: the index of the option with its size
};

// Returns the values of options. `names` are CUjit_option or, if they are those of a library,
// CUlibraryOption. `words` has at least as many elements.
std::vector<OptionValue> option_values(bool are_of_library, std::span<const std::uint32_t> names,
                                       std::span<const std::uint64_t> words);

// Returns whether a parameter with this name has the values of options, and whether they are of a library.
bool has_option_values(std::string_view parameter);
bool are_of_library(std::string_view parameter);

// Drivers accept fewer options. More are not recorded: the number may be uninitialized.
inline constexpr std::uint64_t kMostOptions = 256;

// Copies memory that may not exist, and returns whether it could.
using OptionReader = bool (*)(void *to, std::uint64_t address, std::size_t size);

// Returns the item that has what a call reads: for each value its word, followed by the texts of an array,
// each with its NUL, or by the addresses of an array. Returns nullopt if memory does not exist.
std::optional<std::string> pack_options_read(const std::vector<OptionValue> &values, OptionReader read);

// Returns the item that has what a call has written: for each value its word, followed by the text of a log.
// `words` are those after the call; `has_logs` is false if the call does not write them.
std::optional<std::string> pack_options_written(const std::vector<OptionValue> &values,
                                                std::span<const std::uint64_t> words, bool has_logs,
                                                OptionReader read);

// A value in an item.
struct RecordedOption {
  std::uint64_t word = 0;
  std::string_view rest{};  // what follows the word
};
// Returns the values of an item. Ends where the item is damaged.
std::vector<RecordedOption> unpack_options(std::string_view item);

// Returns the values that a recorded call read from an argument; nullopt if they were not recorded or are
// damaged.
std::optional<std::vector<OptionValue>> recorded_option_values(const RecordedCall &call,
                                                               std::size_t argument);

// Returns the texts of an array.
std::vector<std::string_view> texts_of(std::string_view rest);

// Returns whether the logs differ: each line but those that tell times.
bool are_equal_logs(std::string_view recorded, std::string_view replayed);

}  // namespace cushim::replay
