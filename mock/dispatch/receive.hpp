// SPDX-License-Identifier: Apache-2.0
// The common target of the functions of all driver slots: one receive() for each function type,
// instantiated in receive.cpp for every entry point.
#pragma once

#include <cushim/mock/driver_slot.hpp>

namespace cushim::mock {

// Packs a driver slot's number and an entry point's slot into one argument.
constexpr unsigned packed_index(int driver_slot, int slot) {
  return static_cast<unsigned>(driver_slot * CUSHIM_TABLE_CAPACITY + slot);
}
constexpr int driver_slot_of(unsigned packed_index) {
  return static_cast<int>(packed_index / CUSHIM_TABLE_CAPACITY);
}
constexpr int slot_of(unsigned packed_index) {
  return static_cast<int>(packed_index % CUSHIM_TABLE_CAPACITY);
}

template <class... Arguments>
CUresult receive(unsigned packed_index, Arguments... arguments);

// Returns the function of a driver slot for an entry point; null if the CUDA headers lack its types.
Function function_of(int driver_slot, int slot) noexcept;

}  // namespace cushim::mock
