// SPDX-License-Identifier: Apache-2.0
#include "created_memory.hpp"

#include <algorithm>

#include <cushim/detail/entry_traits.hpp>
#include "buffers.hpp"
#include "call_text.hpp"
#include "recording_format.hpp"

namespace cushim::replay {
namespace {

using mock::EntryTraits;
using mock::Object;

// Entry points that write the address of a variable to their first argument, and its size to the second.
bool finds_variable(std::string_view base) {
  return base == "cuModuleGetGlobal" || base == "cuLibraryGetGlobal" || base == "cuLibraryGetManaged";
}

std::optional<CreatedMemory> variable_found_by(const RecordedCall &call) {
  const Item *const address = item_of(call.after, 0), *const size = item_of(call.after, 1);
  if (address == nullptr || size == nullptr) return std::nullopt;
  return CreatedMemory{.address = trace::bits_of(address->bytes),
                       .size = trace::bits_of(size->bytes),
                       .is_written_address = true};
}

}  // namespace

const Item *item_of(std::span<const Item> items, std::size_t argument) {
  const auto found = std::ranges::find(items, argument, &Item::argument);
  return found != items.end() ? &*found : nullptr;
}

const Item *pointee_item_of(std::span<const Item> items, std::size_t argument, std::uint64_t offset) {
  const auto found = std::ranges::find_if(items, [&](const Item &item) {
    return item.argument == kPointee && item.structure == argument && item.offset == offset;
  });
  return found != items.end() ? &*found : nullptr;
}

std::uint64_t size_of_created_memory(const RecordedCall &call) {
  const EntryTraits &traits = mock::traits_of(call.slot);
  const std::size_t count = trace::row_of(call.slot).parameters.size();
  const auto argument = [&](mock::ArgumentIndex index) {
    return argument_of(call.slot, call.words, mock::position(index, count));
  };
  if (traits.bytes == mock::kNoArgument) return 1;
  if (traits.rows == mock::kNoArgument) return argument(traits.bytes);
  const Item *const pitch = item_of(call.after, mock::position(traits.bytes, count));
  return pitch != nullptr ? trace::bits_of(pitch->bytes) * argument(traits.rows) : 1;
}

bool may_create_memory(int slot) {
  const EntryTraits &traits = mock::traits_of(slot);
  const bool has_range = mock::is_memory(traits.object) || traits.object == Object::address_range;
  return finds_variable(traits.base) || (traits.begins_lifetime() && has_range);
}

std::optional<CreatedMemory> memory_created_by(const RecordedCall &call) {
  if (!call.has_ended() || call.result != CUDA_SUCCESS) return std::nullopt;
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (finds_variable(traits.base)) return variable_found_by(call);
  const bool has_range = mock::is_memory(traits.object) || traits.object == Object::address_range;
  if (!traits.begins_lifetime() || !has_range) return std::nullopt;
  CreatedMemory memory{.size = size_of_created_memory(call),
                       .argument = mock::position(traits.subject, trace::row_of(call.slot).parameters.size()),
                       .is_reservation = traits.object == Object::address_range,
                       .is_host_accessible = traits.object == Object::pinned_memory ||
                                             traits.object == Object::registered_memory ||
                                             traits.object == Object::managed_memory};
  memory.address = argument_of(call.slot, call.words, memory.argument);
  if (buffer_of(call.slot, memory.argument) == nullptr) return memory;
  const Item *const item = item_of(call.after, memory.argument);
  if (item == nullptr) return std::nullopt;
  memory.address = trace::bits_of(item->bytes);
  memory.is_written_address = true;
  return memory;
}

}  // namespace cushim::replay
