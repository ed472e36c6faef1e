// SPDX-License-Identifier: Apache-2.0
#include "buffers.hpp"

#include <cushim/driver.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include <cushim/detail/entry_traits.hpp>
#include "attribute_values.hpp"
#include "option_values.hpp"
#include "pointees.hpp"

namespace cushim::replay {
namespace {

using mock::EntryTraits;
using mock::MemoryUse;
using trace::Parameter;
using trace::Row;
using Kind = trace::Type::Kind;
using Content = Buffer::Content;
using Direction = Buffer::Direction;

struct Array {
  std::string_view parameter, count;  // count: empty for one object
  Direction direction;
  std::uint8_t shorter_by = 0;  // elements
};
constexpr Array kArrays[] = {
#define CUSHIM_ARRAY(parameter, count, direction) {#parameter, #count, Direction::direction},
#define CUSHIM_SHORTER_ARRAY(parameter, count, by) {#parameter, #count, Direction::in, by},
#define CUSHIM_OBJECT(parameter, direction) {#parameter, "", Direction::direction},
#include "arrays.inc"
};

std::optional<std::size_t> find(const Row &row, std::string_view name) {
  const auto found = std::ranges::find(row.parameters, name, &Parameter::name);
  if (found == row.parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - row.parameters.begin());
}

void set_count(Buffer &buffer, const Row &row, std::size_t count) {
  const trace::Type &type = *row.parameters[count].type;
  buffer.has_count = true;
  buffer.count = static_cast<std::uint8_t>(count);
  buffer.is_count_behind_pointer = type.pointee != nullptr;
  buffer.count_size = static_cast<std::uint8_t>(type.pointee != nullptr ? type.pointee->size : type.size);
}

// Sizes of memory behind void *, in bytes.
struct Untyped {
  std::string_view base, parameter, size;  // size: a parameter, or a number
  Direction direction;
  bool is_data = false;
};
constexpr Untyped kUntyped[] = {
    {"cuCoredumpGetAttribute", "value", "size", Direction::out},
    {"cuCoredumpGetAttributeGlobal", "value", "size", Direction::out},
    {"cuCoredumpSetAttribute", "value", "size", Direction::in},
    {"cuCoredumpSetAttributeGlobal", "value", "size", Direction::in},
    {"cuDeviceGetGraphMemAttribute", "value", "8", Direction::out},
    {"cuDeviceGetLuid", "luid", "8", Direction::out},
    {"cuDeviceSetGraphMemAttribute", "value", "8", Direction::in},
    {"cuLinkAddData", "data", "size", Direction::in, true},
    {"cuMemPoolSetAttribute", "value", "8", Direction::in},
    {"cuMemRangeGetAttribute", "data", "dataSize", Direction::out},
    {"cuParamSetv", "ptr", "numbytes", Direction::in},
    {"cuPointerSetAttribute", "value", "8", Direction::in},
};

std::uint64_t size_of_pool_attribute(std::uint64_t attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? 4 : 8;
}

std::uint64_t size_of_shareable_handle(std::uint64_t type) {
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? sizeof(int) : 8;
}

// The memory that a void * points to; nullopt if it is unknown.
std::optional<Buffer> untyped(const EntryTraits &traits, const Row &row, std::size_t argument) {
  const std::string_view name = row.parameters[argument].name;
  if (name == "image" || name == "fatCubin" || name == "code")
    return Buffer{.content = Content::image, .is_data = true};
  const bool is_pool = traits.base == "cuMemPoolGetAttribute";
  if (is_pool || (traits.base == "cuPointerGetAttribute" && name == "data")) {
    if (is_pool && name != "value") return std::nullopt;
    Buffer buffer{.direction = Direction::out,
                  .element = 8,
                  .size_of_attribute = is_pool ? size_of_pool_attribute : size_of_pointer_attribute};
    buffer.count = static_cast<std::uint8_t>(*find(row, is_pool ? "attr" : "attribute"));
    return buffer;
  }
  if (traits.base == "cuMemExportToShareableHandle" || traits.base == "cuMemPoolExportToShareableHandle") {
    if (argument != 0) return std::nullopt;
    Buffer buffer{.direction = Direction::out, .element = 8, .size_of_attribute = size_of_shareable_handle};
    buffer.count = static_cast<std::uint8_t>(*find(row, "handleType"));
    return buffer;
  }
  for (const Untyped &one : kUntyped) {
    if (one.base != traits.base || one.parameter != name) continue;
    Buffer buffer{.direction = one.direction, .is_data = one.is_data, .element = 1};
    if (const auto size = find(row, one.size))
      set_count(buffer, row, *size);
    else
      buffer.element = static_cast<std::uint32_t>(std::stoul(std::string(one.size)));
    return buffer;
  }
  return std::nullopt;
}

// The host memory that a call copies from or to; nullopt if the argument is not an address of such memory.
std::optional<Buffer> copied(const EntryTraits &traits, const Row &row, std::size_t argument) {
  for (const MemoryUse &use : traits.memory) {
    const bool may_be_host = use.space == MemoryUse::Space::host || use.space == MemoryUse::Space::any;
    if (use.access == MemoryUse::Access::none || !may_be_host || use.size == mock::kNoArgument ||
        mock::position(use.argument, row.parameters.size()) != argument)
      continue;
    Buffer buffer{.direction = use.access == MemoryUse::Access::reads ? Direction::in : Direction::out,
                  .is_data = true,
                  .is_async = traits.queue == EntryTraits::Queue::stream,
                  .element = use.element};
    set_count(buffer, row, mock::position(use.size, row.parameters.size()));
    return buffer;
  }
  return std::nullopt;
}

std::optional<Buffer> typed(const Row &row, std::size_t argument) {
  const Parameter &parameter = row.parameters[argument];
  const trace::Type &type = *parameter.type;
  Buffer buffer{.direction = type.is_input ? Direction::in : Direction::out,
                .element = static_cast<std::uint32_t>(type.pointee->size),
                .type = type.pointee};
  for (const Array &array : kArrays) {
    if (array.parameter != parameter.name) continue;
    const auto count = find(row, array.count);
    if (!array.count.empty() && !count) continue;
    if (count) set_count(buffer, row, *count);
    buffer.shorter_by = array.shorter_by;
    // A call that writes the count also writes the array.
    if (!type.is_input) buffer.direction = buffer.is_count_behind_pointer ? Direction::out : array.direction;
    break;
  }
  return buffer;
}

// An array of the driver whose address a call writes; nullopt if the argument is not for such an address.
std::optional<Buffer> returned_array(const Row &row, std::size_t argument) {
  const std::string_view name = row.parameters[argument].name;
  const bool is_array = name == "dependencies_out" || name == "edgeData_out";
  const auto count = find(row, "numDependencies_out");
  if (!is_array || !count || row.parameters[argument].type->pointee == nullptr) return std::nullopt;
  const trace::Type *const element = row.parameters[argument].type->pointee->pointee;
  if (element == nullptr) return std::nullopt;
  Buffer buffer{.content = Content::returned_array,
                .direction = Direction::out,
                .element = static_cast<std::uint32_t>(element->size),
                .type = element};
  set_count(buffer, row, *count);
  return buffer;
}

std::optional<Buffer> buffer_at(const EntryTraits &traits, const Row &row, std::size_t argument) {
  const Parameter &parameter = row.parameters[argument];
  if (parameter.name == "kernelParams") return Buffer{.content = Content::kernel_parameters};
  if (parameter.name == "data" && has_attribute_values(traits.base))
    return Buffer{.content = Content::attribute_values, .direction = Direction::out};
  if (has_option_values(parameter.name)) {
    Buffer buffer{.content = Content::option_values, .direction = Direction::both, .element = sizeof(void *)};
    const bool are_of_code = parameter.name == "jitOptionsValues";
    set_count(buffer, row,
              *find(row, are_of_library(parameter.name) ? "numLibraryOptions"
                         : are_of_code                  ? "numJitOptions"
                                                        : "numOptions"));
    return buffer;
  }
  if (parameter.name == "extra") return Buffer{.content = Content::launch_options};
  if (const auto buffer = copied(traits, row, argument)) return buffer;
  switch (parameter.type->kind) {
    case Kind::text:
      return Buffer{.content = Content::text};
    case Kind::text_out: {
      Buffer buffer{.content = Content::text_out, .direction = Direction::out, .element = 1};
      set_count(buffer, row, argument + 1);
      return buffer;
    }
    case Kind::pointer:
      if (parameter.type->pointee != nullptr && parameter.type->pointee->kind == Kind::text &&
          !parameter.type->is_input)
        return Buffer{.content = Content::returned_text, .direction = Direction::out, .element = 8};
      if (const auto buffer = returned_array(row, argument)) return buffer;
      return parameter.type->pointee != nullptr ? typed(row, argument) : untyped(traits, row, argument);
    default:
      return std::nullopt;
  }
}

std::vector<std::vector<Buffer>> make_table() {
  std::vector<std::vector<Buffer>> table;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const Row &row = trace::row_of(slot);
    std::vector<Buffer> &buffers = table.emplace_back();
    for (std::size_t i = 0; i < row.parameters.size(); ++i)
      if (auto buffer = buffer_at(mock::traits_of(slot), row, i)) {
        buffer->argument = static_cast<std::uint8_t>(i);
        buffer->has_pointees = buffer->type != nullptr && buffer->is_read() && has_pointees(*buffer->type);
        buffers.push_back(*buffer);
      }
  }
  return table;
}

}  // namespace

std::span<const Buffer> buffers_of(int slot) {
  static const auto &table = *new std::vector<std::vector<Buffer>>(make_table());
  return table[static_cast<std::size_t>(slot)];
}

const Buffer *buffer_of(int slot, std::size_t argument) {
  const auto buffers = buffers_of(slot);
  const auto found = std::ranges::find(buffers, argument, &Buffer::argument);
  return found != buffers.end() ? &*found : nullptr;
}

std::size_t kernel_argument_of(int slot) {
  // At most one argument is a CUfunction.
  const Row &row = trace::row_of(slot);
  constexpr std::string_view kNoun = mock::noun_of<CUfunction>;
  return static_cast<std::size_t>(std::ranges::find_if(row.parameters,
                                                       [&](const Parameter &parameter) {
                                                         return parameter.type->kind == Kind::handle &&
                                                                parameter.type->name == kNoun;
                                                       }) -
                                  row.parameters.begin());
}

std::uint64_t argument_of(int slot, std::span<const std::uint64_t> words, std::size_t argument) {
  return words[trace::row_of(slot).parameters[argument].word];
}

}  // namespace cushim::replay
