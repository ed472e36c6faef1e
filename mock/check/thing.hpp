// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/check/place.hpp>

#include <cstdint>
#include <string>

#include "kind.hpp"

namespace cushim::check {

// A handle or a piece of memory, while it lives and for some time after. Small: calls go through a thousand
// of them.
struct Thing {
  std::uint64_t value = 0;
  std::uint64_t bytes = 0;    // of memory
  std::uint64_t context = 0;  // that it belongs to
  Place made_at{};
  Place ended_at{};
  unsigned count = 1;          // how often it was opened: memory of another process
  unsigned ended_number = 0;   // of all that ended
  std::int16_t made_by = 0;    // the row
  std::int16_t ended_by = -1;  // the row; -1 while it lives
  Kind kind = Kind::none;      // none: memory
  bool ended_with_context = false;
  bool is_reported = false;  // as leaked

  bool is_alive() const noexcept { return ended_by < 0; }
  bool is_memory() const noexcept { return kind == Kind::none; }
  const char *noun() const;  // "stream", "device memory"
  // "event 0x7f10", "device memory 0x7f00 of 4096 bytes"
  std::string in_words() const;
};

}  // namespace cushim::check
