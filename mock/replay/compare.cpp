// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <algorithm>
#include <cstring>

#include <cushim/detail/reference.hpp>
#include "bits.hpp"
#include "recording_format.hpp"

namespace cushim::replay {
namespace {

using cushim::detail::hexadecimal;
using trace::Field;
using trace::Type;
using Kind = Type::Kind;

std::optional<Unequal> compare_handles(std::string_view kind, std::uint64_t recorded, std::uint64_t replayed,
                                       bool creates, Mapping &mapping) {
  const auto expected = mapping.handle_of_kind(kind, recorded);
  if (is_special(kind, recorded) || replayed == 0) {
    if (recorded == replayed) return std::nullopt;
  } else if (!creates && expected == replayed) {
    return std::nullopt;
  } else if (creates || !expected || mapping.is_ended_part(kind, recorded)) {
    mapping.add_handle(kind, recorded, replayed);
    return std::nullopt;
  }
  const std::string noun = kind.empty() ? "handle" : std::string(kind);
  return Unequal{
      noun + " " + hexadecimal(recorded) +
          (expected && *expected != recorded ? ", which is " + hexadecimal(*expected) + " here" : ""),
      noun + " " + hexadecimal(replayed)};
}

std::optional<Unequal> compare_addresses(std::uint64_t recorded, std::uint64_t replayed, bool creates,
                                         Mapping &mapping) {
  if (recorded == 0 || mapping.memory_at(recorded) == nullptr)
    return compare_handles("", recorded, replayed, creates, mapping);
  const auto expected = mapping.address(recorded);
  if (creates || *expected == replayed) return std::nullopt;
  return Unequal{hexadecimal(recorded) + ", which is " + hexadecimal(*expected) + " here",
                 hexadecimal(replayed)};
}

}  // namespace

bool is_id(std::string_view name) { return name.ends_with("Id") || name == "id_out"; }

std::optional<Unequal> compare_numbers(const Type &type, std::uint64_t recorded, std::uint64_t other) {
  if (recorded == other) return std::nullopt;
  const auto text = [&](std::uint64_t value) -> std::string {
    if (type.kind == Kind::real) {
      float single = 0;
      double number = 0;
      std::memcpy(type.size == sizeof single ? static_cast<void *>(&single) : &number, &value, type.size);
      return std::to_string(type.size == sizeof single ? static_cast<double>(single) : number);
    }
    const std::size_t unused = 64 - 8 * std::min<std::size_t>(type.size, 8);
    const auto number = static_cast<std::int64_t>(value << unused) >> unused;
    if (type.kind == Kind::enumeration && type.name != nullptr)
      if (const auto name = trace::enumerator_name(type.name, number); !name.empty())
        return std::string(name);
    return type.kind == Kind::unsigned_number ? std::to_string(value) : std::to_string(number);
  };
  return Unequal{text(recorded), text(other)};
}

std::optional<Unequal> compare(const Type &type, const char *recorded, const char *replayed,
                               std::string_view name, bool creates, Mapping &mapping) {
  const std::uint64_t before = bits_at(recorded, type.size), now = bits_at(replayed, type.size);
  switch (type.kind) {
    case Kind::handle:
      return compare_handles(type.name, before, now, creates, mapping);
    case Kind::address:
      if (is_id(name)) return std::nullopt;
      if (is_number_name(name)) return compare_numbers(type, before, now);
      return compare_addresses(before, now, creates, mapping);
    case Kind::pointer:
      // Host functions and their data are replaced, so are arrays of access descriptions, and the image of a
      // linker is anywhere.
      if (name == "fn" || name == "userData" || name == "cubinOut" || name == "accessDescs")
        return std::nullopt;
      return compare_addresses(before, now, creates, mapping);
    case Kind::enumeration:
    case Kind::signed_number:
    case Kind::unsigned_number:
      // A conditional handle is a number. Kernels get it as a parameter, in which small ones are not found.
      if (name == "pHandle_out") {
        mapping.add_handle("", before, now);
        return compare_handles(kConditionalHandle, before, now, true, mapping);
      }
      return is_id(name) ? std::nullopt : compare_numbers(type, before, now);
    case Kind::structure:
      for (const Field &field : *type.fields)
        if (auto unequal = compare(*field.type, recorded + field.offset, replayed + field.offset, field.name,
                                   creates, mapping))
          return Unequal{std::string(field.name) + " " + unequal->recorded,
                         std::string(field.name) + " " + unequal->replayed};
      return std::nullopt;
    default:
      return std::nullopt;  // times, texts of the driver, and unions
  }
}

std::optional<Unequal> compare_pointer_attribute(std::uint64_t attribute, std::string_view recorded,
                                                 std::string_view replayed, Mapping &mapping) {
  const std::uint64_t before = bits_at(recorded.data(), recorded.size()),
                      now = bits_at(replayed.data(), replayed.size());
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return compare_handles("context", before, now, false, mapping);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return compare_handles("memory pool", before, now, false, mapping);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      // Addresses of other memory differ from run to run.
      if (mapping.memory_at(before) != nullptr) return compare_addresses(before, now, false, mapping);
      [[fallthrough]];
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return std::nullopt;
    default:
      return compare_numbers(trace::type_of<std::uint64_t>(), before, now);
  }
}

std::optional<Unequal> compare_data(const Item &item, std::string_view replayed) {
  if (item.is_hash) {
    if (bits_at(item.bytes.data(), item.bytes.size()) == hash_of_data(replayed)) return std::nullopt;
    return Unequal{"a hash of " + std::to_string(replayed.size()) + " bytes", "other bytes"};
  }
  const auto [one, other] = std::ranges::mismatch(item.bytes, replayed);
  if (one == item.bytes.end()) return std::nullopt;
  const auto byte = [](char value) { return std::to_string(static_cast<unsigned char>(value)); };
  return Unequal{"byte " + std::to_string(one - item.bytes.begin()) + " is " + byte(*one),
                 other != replayed.end() ? byte(*other) : "missing"};
}

}  // namespace cushim::replay
