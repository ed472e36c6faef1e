// SPDX-License-Identifier: Apache-2.0
// Memory that pointers in structures and in arrays lead to, for a call that is made again.
#include <algorithm>
#include <cstring>

#include "compare.hpp"
#include "created_memory.hpp"
#include "format.hpp"
#include "played_call.hpp"

namespace cushim::replay {

using Content = Pointee::Content;

char *PlayedCall::make_parameters(std::string_view rest) {
  std::vector<const char *> pointers;
  while (!rest.empty()) {
    std::uint32_t size = 0;
    if (rest.size() < sizeof size) return nullptr;
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < size) return nullptr;
    char *const to = allocate(size);
    std::ranges::copy(rest.substr(0, size), to);
    mapping_.replace_words({to, size});
    pointers.push_back(to);
    rest.remove_prefix(size);
  }
  char *const array = allocate(pointers.size() * sizeof(char *));
  std::ranges::copy(pointers, reinterpret_cast<const char **>(array));
  return array;
}

char *PlayedCall::make_launch_options(std::string_view recorded) {
  char *const bytes = allocate(recorded.size());
  std::ranges::copy(recorded, bytes);
  mapping_.replace_words({bytes, recorded.size()});
  char *const size = allocate(sizeof(std::size_t));
  const std::size_t number = recorded.size();
  std::memcpy(size, &number, sizeof number);
  void *const options[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, size,
                           CU_LAUNCH_PARAM_END};
  char *const array = allocate(sizeof options);
  std::memcpy(array, static_cast<const void *>(options), sizeof options);
  return array;
}

std::optional<std::string> PlayedCall::provide_pointees(const Buffer &buffer, char *structure,
                                                        std::uint64_t offset) {
  if (!buffer.has_pointees) return std::nullopt;
  for (const Pointee &pointee : pointees_of(*buffer.type, structure)) {
    const bool is_before = pointee.content == Content::rows_read;
    const Item *const item =
        pointee_item_of(is_before ? call_.before : call_.after, buffer.argument, offset + pointee.offset);
    char *to = nullptr;
    if (auto reason = provide_pointee(pointee, item, to)) return reason;
    std::memset(structure + pointee.offset, 0, sizeof(const char *));
    pointers_.push_back({structure + pointee.offset, to});
  }
  return std::nullopt;
}

std::optional<std::string> PlayedCall::provide_pointee(const Pointee &pointee, const Item *item, char *&to) {
  const bool has_bytes = item != nullptr && !item->is_hash;
  if (pointee.is_data()) {
    HostRows rows = pointee.rows;
    const std::uint64_t extent = rows.extent();
    // An asynchronous copy uses the memory after the call.
    if (mapping_.memory_at(pointee.address) != nullptr && mapping_.room_at(pointee.address) >= extent)
      to = reinterpret_cast<char *>(*mapping_.address(pointee.address));
    else
      to = kept_.allocate(extent);
    rows.address = reinterpret_cast<std::uint64_t>(to);
    if (pointee.content == Content::rows_written) {
      if (item != nullptr) rows_.push_back({rows, item});
      return std::nullopt;
    }
    if (extent == 0) return std::nullopt;
    if (!has_bytes || item->bytes.size() != rows.size()) return "the memory that it read was not recorded";
    rows.unpack(item->bytes);
    return std::nullopt;
  }
  if (!has_bytes) return "what its structure leads to was not recorded";
  if (pointee.content == Content::kernel_parameters) {
    to = make_parameters(item->bytes);
  } else if (pointee.content == Content::launch_options) {
    to = make_launch_options(item->bytes);
  } else {
    to = allocate(item->bytes.size());
    std::ranges::copy(item->bytes, to);
    for (std::uint64_t at = 0; at + pointee.type->size <= item->bytes.size(); at += pointee.type->size)
      if (auto reason = mapping_.replace(*pointee.type, to + at, "")) return reason;
  }
  if (to == nullptr) return "what its structure leads to is damaged";
  return std::nullopt;
}

void PlayedCall::set_pointers() {
  for (const Pointer &pointer : pointers_)
    std::memcpy(pointer.at, static_cast<const void *>(&pointer.value), sizeof pointer.value);
}

std::optional<Difference> PlayedCall::compare_rows() const {
  for (const auto &[rows, item] : rows_)
    if (auto unequal = compare_data(*item, rows.pack()))
      return Difference{.what = "the host memory that it copied to",
                        .recorded = std::move(unequal->recorded),
                        .replayed = std::move(unequal->replayed)};
  return std::nullopt;
}

// Returns the memory that an item is about; null if it is none of that, or smaller here.
char *PlayedCall::host_memory_of(const Item &item) const {
  const Mapping::Memory *const memory =
      item.argument == kHostMemory ? mapping_.memory_at(item.offset) : nullptr;
  if (memory == nullptr || !memory->is_host_accessible || mapping_.room_at(item.offset) < item.bytes.size())
    return nullptr;
  return reinterpret_cast<char *>(*mapping_.address(item.offset));
}

void PlayedCall::set_host_memory() const {
  for (const Item &item : call_.before)
    if (char *const to = host_memory_of(item)) std::ranges::copy(item.bytes, to);
}

std::optional<Difference> PlayedCall::compare_host_memory() const {
  for (const Item &item : call_.after)
    if (const char *const replayed = host_memory_of(item))
      if (auto unequal = compare_data(item, {replayed, item.bytes.size()}))
        return Difference{.what = "memory of the host that a device wrote",
                          .recorded = std::move(unequal->recorded),
                          .replayed = std::move(unequal->replayed)};
  return std::nullopt;
}

}  // namespace cushim::replay
