// SPDX-License-Identifier: Apache-2.0
#include "argument_comparison.hpp"

#include <cushim/mock/text.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <cushim/detail/entry_traits.hpp>
#include <cushim/detail/packed_parameters.hpp>
#include <cushim/detail/reference.hpp>
#include "bits.hpp"
#include "created_memory.hpp"
#include "mapping.hpp"
#include "pointees.hpp"
#include "recording_format.hpp"

namespace cushim::replay {
namespace {

using trace::Field;
using trace::Type;
using Kind = Type::Kind;
using Content = Buffer::Content;

std::string address_text(std::uint64_t address) {
  return address == 0 ? "null" : cushim::detail::hexadecimal(address);
}

std::string handle_text(const Type &type, std::uint64_t bits) {
  return mock::handle_text(type.name, reinterpret_cast<const void *>(bits));
}

}  // namespace

std::optional<ArgumentComparison::Result> ArgumentComparison::first() {
  const auto &parameters = trace::row_of(recorded_.slot).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (auto unequal = compare_word(i)) return Result{parameters[i].name, std::move(*unequal)};
  for (const Buffer &buffer : buffers_of(recorded_.slot))
    if (auto unequal = compare_memory(buffer))
      return Result{parameters[buffer.argument].name, std::move(*unequal)};
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_word(std::size_t argument) {
  const trace::Parameter &parameter = trace::row_of(recorded_.slot).parameters[argument];
  const std::uint64_t recorded = recorded_.words[parameter.word], given = given_[parameter.word];
  const auto &traits = mock::traits_of(recorded_.slot);
  const bool is_registered = traits.object == mock::Object::registered_memory && traits.begins_lifetime() &&
                             parameter.type->kind == Kind::pointer;
  if (is_registered || buffer_of(recorded_.slot, argument) != nullptr) {
    if ((recorded == 0) == (given == 0)) return std::nullopt;
    return Unequal{recorded == 0 ? "null" : "an address", given == 0 ? "null" : "an address"};
  }
  return compare_value(*parameter.type, reinterpret_cast<const char *>(&recorded_.words[parameter.word]),
                       reinterpret_cast<const char *>(&given_[parameter.word]), parameter.name);
}

ArgumentComparison::Difference ArgumentComparison::compare_memory(const Buffer &buffer) {
  const std::uint64_t given = argument_of(recorded_.slot, given_, buffer.argument);
  if (given == 0) return std::nullopt;
  if (buffer.is_data && buffer.content == Content::objects) return compare_data(buffer, given);
  if (!buffer.is_read()) return std::nullopt;
  const auto items = buffer.direction == Buffer::Direction::both ? recorded_.before : recorded_.after;
  const Item *const item = item_of(items, buffer.argument);
  if (item == nullptr) return std::nullopt;
  switch (buffer.content) {
    case Content::text: {
      const std::string text(reinterpret_cast<const char *>(given));
      if (text == item->bytes) return std::nullopt;
      return Unequal{'"' + std::string(item->bytes) + '"', '"' + text + '"'};
    }
    case Content::image:
      return compare_image(*item, given);
    case Content::kernel_parameters:
      return compare_kernel_parameters(*item, given);
    case Content::launch_options:
      return compare_launch_options(*item, given);
    case Content::objects:
      return compare_objects(buffer, reinterpret_cast<const char *>(given));
    default:
      return std::nullopt;
  }
}

ArgumentComparison::Difference ArgumentComparison::compare_image(const Item &item,
                                                                 std::uint64_t given) const {
  const std::uint64_t size = size_of_image(given);
  if (size != item.size)
    return Unequal{std::to_string(item.size) + " bytes", std::to_string(size) + " bytes"};
  return replay::compare_data(item, {reinterpret_cast<const char *>(given), size});
}

ArgumentComparison::Difference ArgumentComparison::compare_data(const Buffer &buffer, std::uint64_t given) {
  const std::uint64_t recorded = argument_of(recorded_.slot, recorded_.words, buffer.argument);
  if (objects_.is_in_memory(recorded, recorded_.begin)) {
    if (auto unequal = compare_address(recorded, given, true)) return unequal;
    if (!objects_.is_host_accessible(recorded, recorded_.begin)) return std::nullopt;
  }
  const Item *const item = buffer.is_read() ? item_of(recorded_.before, buffer.argument) : nullptr;
  if (item == nullptr) return std::nullopt;
  return replay::compare_data(*item, {reinterpret_cast<const char *>(given), item->size});
}

ArgumentComparison::Difference ArgumentComparison::compare_objects(const Buffer &buffer, const char *given) {
  const auto items = buffer.direction == Buffer::Direction::both ? recorded_.before : recorded_.after;
  const Item &item = *item_of(items, buffer.argument);
  const std::string name(trace::row_of(recorded_.slot).parameters[buffer.argument].name);
  if (buffer.type == nullptr) return compare_bytes(item.bytes, given, name);
  for (std::size_t at = 0; at + buffer.element <= item.bytes.size(); at += buffer.element) {
    auto unequal = compare_value(*buffer.type, item.bytes.data() + at, given + at, name);
    if (!unequal && buffer.has_pointees) unequal = compare_pointees(buffer, at, given + at);
    if (!unequal) continue;
    if (buffer.has_count)
      unequal->recorded.insert(0, "element " + std::to_string(at / buffer.element) + ": ");
    return unequal;
  }
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_pointees(const Buffer &buffer, std::size_t at,
                                                                    const char *given) {
  using PointeeContent = Pointee::Content;
  for (const Pointee &pointee : pointees_of(*buffer.type, given)) {
    const bool is_before = pointee.content == PointeeContent::rows_read;
    const Item *const item =
        pointee_item_of(is_before ? recorded_.before : recorded_.after, buffer.argument, at + pointee.offset);
    if (item == nullptr) continue;
    Difference unequal;
    switch (pointee.content) {
      case PointeeContent::objects:
        for (std::size_t i = 0; i + pointee.type->size <= item->bytes.size() && !unequal;
             i += pointee.type->size)
          unequal = compare_value(*pointee.type, item->bytes.data() + i,
                                  reinterpret_cast<const char *>(pointee.address) + i, "");
        break;
      case PointeeContent::kernel_parameters:
        unequal = compare_kernel_parameters(*item, pointee.address);
        break;
      case PointeeContent::launch_options:
        unequal = compare_launch_options(*item, pointee.address);
        break;
      case PointeeContent::rows_read:
        if (!pointee.may_be_of_device || pointee.rows.are_there())
          unequal = replay::compare_data(*item, pointee.rows.pack());
        break;
      case PointeeContent::rows_written:
      case PointeeContent::handles_made:
        break;
    }
    if (unequal) return unequal;
  }
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_kernel_parameters(const Item &item,
                                                                             std::uint64_t given) {
  const char *const *pointers = reinterpret_cast<const char *const *>(given);
  std::size_t number = 0;
  for (std::string_view rest = item.bytes; !rest.empty(); ++number) {
    const auto size = static_cast<std::size_t>(bits_at(rest.data(), std::min<std::size_t>(rest.size(), 4)));
    if (rest.size() < 4 || rest.size() - 4 < size) break;
    if (auto unequal =
            compare_bytes(rest.substr(4, size), pointers[number], "parameter " + std::to_string(number)))
      return unequal;
    rest.remove_prefix(4 + size);
  }
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_launch_options(const Item &item,
                                                                          std::uint64_t given) {
  const mock::PackedParameters packed = mock::packed_parameters(reinterpret_cast<void *const *>(given));
  if (packed.size != item.size)
    return Unequal{std::to_string(item.size) + " bytes", std::to_string(packed.size) + " bytes"};
  return compare_bytes(item.bytes, packed.bytes, "parameters");
}

ArgumentComparison::Difference ArgumentComparison::compare_bytes(std::string_view recorded, const char *given,
                                                                 const std::string &name) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= recorded.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t address = bits_at(&recorded[at], sizeof address);
    if (!objects_.is_in_memory(address, recorded_.begin)) continue;
    if (auto unequal = compare_address(address, bits_at(given + at, sizeof address), true))
      return Unequal{name + " has " + unequal->recorded, unequal->replayed};
    if (recorded.size() == sizeof address) return std::nullopt;
  }
  if (recorded.size() > sizeof(std::uint64_t)) return std::nullopt;
  const std::uint64_t before = bits_at(recorded.data(), recorded.size()),
                      now = bits_at(given, recorded.size());
  const std::uint64_t expected = before > 2 ? objects_.handle("", before, recorded_.begin) : before;
  if (expected == now) return std::nullopt;
  return Unequal{name + " is " + std::to_string(expected), std::to_string(now)};
}

ArgumentComparison::Difference ArgumentComparison::compare_address(std::uint64_t recorded,
                                                                   std::uint64_t given, bool is_strict) {
  std::optional<std::uint64_t> expected;
  if (recorded == 0 || given == 0)
    expected = recorded;
  else if (is_strict || objects_.is_in_memory(recorded, recorded_.begin))
    expected = objects_.address(recorded, recorded_.begin);
  if (!expected && (recorded < 4096 || objects_.is_created("", recorded)))
    expected = objects_.handle("", recorded, recorded_.begin);
  // Else memory of the host, which has another address in each run.
  if (!expected || *expected == given) return std::nullopt;
  return Unequal{address_text(*expected), address_text(given)};
}

ArgumentComparison::Difference ArgumentComparison::compare_value(const Type &type, const char *recorded,
                                                                 const char *given, std::string_view name) {
  const std::uint64_t before = bits_at(recorded, type.size), now = bits_at(given, type.size);
  switch (type.kind) {
    case Kind::handle: {
      const std::uint64_t expected =
          before > 2 ? objects_.handle(type.name, before, recorded_.begin) : before;
      if (expected == now) return std::nullopt;
      return Unequal{handle_text(type, expected), handle_text(type, now)};
    }
    case Kind::address:
      if (is_id(name)) return std::nullopt;
      if (is_number_name(name)) return compare_numbers(type, before, now);
      return compare_address(before, now, false);
    case Kind::pointer:
    case Kind::text:
    case Kind::text_out:
      if (name == "userData" || name == "ptr") return std::nullopt;
      return compare_address(before, now, false);
    case Kind::enumeration:
    case Kind::real:
    case Kind::signed_number:
    case Kind::unsigned_number:
      return is_id(name) ? std::nullopt : compare_numbers(type, before, now);
    case Kind::structure:
      return compare_structure(type, recorded, given);
    case Kind::batch_op:
      return compare_batch_op(recorded, given);
    case Kind::bytes:
      break;
  }
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_structure(const Type &type, const char *recorded,
                                                                     const char *given) {
  // Unions and all but the first element of arrays are not described: only addresses in them are compared.
  std::vector<bool> is_described(type.size);
  for (const Field &field : *type.fields) {
    std::fill_n(is_described.begin() + static_cast<std::ptrdiff_t>(field.offset), field.type->size, true);
    if (auto unequal = compare_value(*field.type, recorded + field.offset, given + field.offset, field.name))
      return Unequal{std::string(field.name) + " " + unequal->recorded, unequal->replayed};
  }
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= type.size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = bits_at(recorded + at, sizeof word);
    if (is_described[at] || !objects_.is_in_memory(word, recorded_.begin)) continue;
    if (auto unequal = compare_address(word, bits_at(given + at, sizeof word), true)) return unequal;
  }
  return std::nullopt;
}

ArgumentComparison::Difference ArgumentComparison::compare_batch_op(const char *recorded, const char *given) {
  CUstreamBatchMemOpParams before, now;
  std::memcpy(&before, recorded, sizeof before);
  std::memcpy(&now, given, sizeof now);
  if (before.operation != now.operation)
    return compare_numbers(
        {.kind = Kind::enumeration, .size = sizeof before.operation, .name = "CUstreamBatchMemOpType"},
        before.operation, now.operation);
  const std::string_view name = trace::enumerator_name("CUstreamBatchMemOpType", before.operation);
  if (name.find("_VALUE_") == std::string_view::npos) return std::nullopt;
  // Waits and writes have the same layout.
  if (auto unequal = compare_address(before.waitValue.address, now.waitValue.address, false)) return unequal;
  const bool is_long = name.find("_64") != std::string_view::npos;
  const Type number{.kind = Kind::unsigned_number, .size = 8};
  const auto value = [&](const CUstreamBatchMemOpParams &operation) {
    return is_long ? operation.waitValue.value64 : operation.waitValue.value;
  };
  if (auto unequal = compare_numbers(number, value(before), value(now)))
    return Unequal{"value " + unequal->recorded, unequal->replayed};
  if (auto unequal = compare_numbers(number, before.waitValue.flags, now.waitValue.flags))
    return Unequal{"flags " + unequal->recorded, unequal->replayed};
  return std::nullopt;
}

}  // namespace cushim::replay
