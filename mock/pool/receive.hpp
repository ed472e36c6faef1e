// SPDX-License-Identifier: Apache-2.0
// Where the functions of all frames lead: one receive() for each type of function, instantiated in
// receive.cpp for every row of the list.
#pragma once

#include <cushim/mock/frame.hpp>

namespace cushim {
inline namespace v1 {
namespace mock {

// A frame's number and a row's slot, as one argument.
constexpr unsigned place(int frame, int slot) {
  return static_cast<unsigned>(frame * CUSHIM_TABLE_CAPACITY + slot);
}
constexpr int frame_of(unsigned place) { return static_cast<int>(place / CUSHIM_TABLE_CAPACITY); }
constexpr int slot_of(unsigned place) { return static_cast<int>(place % CUSHIM_TABLE_CAPACITY); }

template <class... Arguments>
CUresult receive(unsigned place, Arguments... arguments);

// The function of a frame for a row; null if these headers cannot type it.
Function frame_function(int frame, int slot) noexcept;

// Whether the function that starts here is one of those: calls come in by it, and what called it is the
// program.
bool is_way_in(const void *start_of_function);

}  // namespace mock
}  // namespace v1
}  // namespace cushim
