// SPDX-License-Identifier: Apache-2.0
// The memory that a recorded call created.
#pragma once

#include <cushim/replay/recording.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cushim::replay {

struct CreatedMemory {
  std::uint64_t address = 0, size = 0;
  std::size_t argument = 0;         // has the address, or points to it
  bool is_written_address = false;  // whether the call wrote the address; else the program passed it
  bool is_reservation = false;
  bool is_host_accessible = false;  // pinned, registered or managed
};

// Returns the item of an argument; null if there is none.
const Item *item_of(std::span<const Item> items, std::size_t argument);

// Returns the item of the memory behind a pointer, at this offset of the memory of an argument; null if there
// is none.
const Item *pointee_item_of(std::span<const Item> items, std::size_t argument, std::uint64_t offset);

// Returns the size that the arguments specify; 1 if they specify none.
std::uint64_t size_of_created_memory(const RecordedCall &call);

// Returns whether calls of the entry point create memory, or find a variable of a module.
bool may_create_memory(int slot);
// Returns the memory or address range whose lifetime the call began; nullopt if there is none, or if its
// address was not recorded. A variable of a module is memory, too.
std::optional<CreatedMemory> memory_created_by(const RecordedCall &call);

}  // namespace cushim::replay
