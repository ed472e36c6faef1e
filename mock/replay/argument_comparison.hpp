// SPDX-License-Identifier: Apache-2.0
// Compares the arguments of a program's call, and the memory that they point to, with those of a recorded
// call.
#pragma once

#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "buffers.hpp"
#include "compare.hpp"
#include "objects.hpp"

namespace cushim::replay {

class ArgumentComparison {
 public:
  struct Result {
    std::string_view argument;
    Unequal values;  // `replayed` is the program's
  };

  ArgumentComparison(const RecordedCall &recorded, std::span<const std::uint64_t> given, Objects &objects)
      : recorded_(recorded), given_(given), objects_(objects) {}

  // Returns the first argument that differs: of those in the call itself, then of the memory behind them.
  std::optional<Result> first();

 private:
  using Difference = std::optional<Unequal>;
  Difference compare_word(std::size_t argument);
  Difference compare_memory(const Buffer &buffer);
  Difference compare_image(const Item &item, std::uint64_t given) const;
  Difference compare_data(const Buffer &buffer, std::uint64_t given);
  Difference compare_objects(const Buffer &buffer, const char *given);
  Difference compare_pointees(const Buffer &buffer, std::size_t at, const char *given);
  Difference compare_kernel_parameters(const Item &item, std::uint64_t given);
  Difference compare_launch_options(const Item &item, std::uint64_t given);
  // Compares bytes of unknown type: up to 8 bytes as a value; of more bytes, only the addresses of recorded
  // memory in them.
  Difference compare_bytes(std::string_view recorded, const char *given, const std::string &name);
  Difference compare_value(const trace::Type &type, const char *recorded, const char *given,
                           std::string_view name);
  Difference compare_structure(const trace::Type &type, const char *recorded, const char *given);
  Difference compare_batch_op(const char *recorded, const char *given);
  Difference compare_address(std::uint64_t recorded, std::uint64_t given, bool is_strict);

  const RecordedCall &recorded_;
  const std::span<const std::uint64_t> given_;
  Objects &objects_;
};

}  // namespace cushim::replay
