// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/driver.hpp>

#include <array>
#include <cstddef>

namespace differential {

// The objects that two processes have exported to each other and not destroyed.
struct Handles {
  template <class Handle>
  struct Place {
    Handle handle{};
    bool is_taken = false;
    unsigned opened = 0;    // number of times that the other process has it open
    std::size_t bytes = 0;  // size of memory
    bool is_stale = false;  // memory that its process has freed
  };
  static constexpr unsigned places = 3;
  std::array<Place<CUipcEventHandle>, places> event;
  std::array<Place<CUipcMemHandle>, places> memory;
};

}  // namespace differential
