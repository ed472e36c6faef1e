// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "execute/atomics.hpp"
#include "execute/decode.hpp"
#include "execute/textures.hpp"

namespace cushim::ptx::execute {
namespace {

Geometry geometry_of(const Words &words) {
  static constexpr std::string_view names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (has(words, names[i])) return static_cast<Geometry>(i);
  throw UnsupportedInstruction{"is not supported"};  // multisampled textures
}

}  // namespace

void FunctionDecoder::emit_image(std::string_view key, const Operand &handle, const ImageAccess &access) {
  const std::uint32_t at = full_address(handle);
  auto &list = code.words.emplace_back((sizeof access + 7) / 8);
  std::memcpy(list.data(), &access, sizeof access);
  for (std::size_t i = 0; i < access.at.size(); ++i)
    if (access.at[i] != ImageAccess::absent) part_lists.push_back({list.data(), i});
  Op &op = emit(key, 0, at);
  op.data = list.data();
}

const Operand &FunctionDecoder::image_coordinates(const Operand &bracket, ImageAccess &access) {
  if (bracket.kind != OperandKind::bracket) throw UnsupportedInstruction{"has no coordinates"};
  if (bracket.count != 2) throw UnsupportedInstruction{"names a sampler: only unified mode is supported"};
  const Operand &coordinates = element(bracket, 1);
  const bool is_vector = coordinates.kind == OperandKind::vector;
  const unsigned wanted = coordinates_of(access.geometry) + (is_layered(access.geometry) ? 1 : 0);
  const bool is_layer_first = is_layered(access.geometry);
  if ((is_vector ? coordinates.count : 1) < wanted) throw UnsupportedInstruction{"has too few coordinates"};
  for (unsigned i = 0; i < wanted; ++i) {
    const bool is_float = !access.has_integer_coordinates && !(is_layer_first && i == 0);
    const Operand one = is_vector ? element(coordinates, i) : register_of(coordinates);
    access.at[ImageAccess::coordinates + i] = source(one, 4, is_float ? "f32" : "s32");
  }
  return element(bracket, 0);
}

// A coordinate without braces is parsed as an address.
Operand FunctionDecoder::register_of(const Operand &address) {
  Operand made = address;
  if (address.kind == OperandKind::address && address.base == Base::reg) made.kind = OperandKind::reg;
  if (address.kind == OperandKind::address && address.base == Base::none) made.kind = OperandKind::integer;
  return made;
}

void FunctionDecoder::decode_fetch() {
  const Words words = split(mnemonic().ordered);
  ImageAccess access;
  access.geometry = geometry_of(words);
  access.gathers = words[0] == "tld4";
  access.has_integer_coordinates = words.back() == "s32";
  if (access.gathers) access.channel = has(words, "r") ? 0 : has(words, "g") ? 1 : has(words, "b") ? 2 : 3;
  access.results = has(words, "f16x2") ? Results::pairs
                   : has(words, "f16") ? Results::halves
                                       : Results::words;
  if (has(words, "v2") != has(words, "f16x2")) throw UnsupportedInstruction{"is not supported"};
  access.level_of = has(words, "level")  ? LevelOf::operand
                    : has(words, "grad") ? LevelOf::gradients
                                         : LevelOf::sampler;
  const Operand &handle = image_coordinates(operand(1), access);
  std::size_t next = 2;
  if (access.level_of == LevelOf::operand)
    access.at[ImageAccess::level] =
        source(operand(next++), 4, access.has_integer_coordinates ? "s32" : "f32");
  if (access.level_of == LevelOf::gradients) {
    for (unsigned i = 0; i < 2; ++i) {
      const Operand &gradient = operand(next++);
      for (unsigned axis = 0; axis < coordinates_of(access.geometry); ++axis)
        access.at[ImageAccess::gradients + 3 * i + axis] =
            source(gradient.kind == OperandKind::vector ? element(gradient, axis) : gradient, 4, "f32");
    }
  }
  if (next < count() && operand(next).kind == OperandKind::vector) {
    const Operand &offset = operand(next++);
    for (unsigned axis = 0; axis < std::min<unsigned>(offset.count, coordinates_of(access.geometry)); ++axis)
      access.at[ImageAccess::offsets + axis] = source(element(offset, axis), 4, "s32");
  }
  if (next < count()) throw UnsupportedInstruction{"compares depths"};
  const Operand &result = operand(0).kind == OperandKind::pair ? element(operand(0), 0) : operand(0);
  if (result.kind != OperandKind::vector)
    throw UnsupportedInstruction{"has a destination that is not a vector"};
  for (unsigned i = 0; i < result.count; ++i)
    if (const Operand &one = element(result, i); one.kind != OperandKind::sink)
      access.at[ImageAccess::values + i] = destination(one, access.results == Results::halves ? 2 : 4);
  if (operand(0).kind == OperandKind::pair)
    access.at[ImageAccess::resident] = destination(element(operand(0), 1), 1);
  emit_image("texture.fetch", handle, access);
}

void FunctionDecoder::decode_image_query() {
  const Words words = split(mnemonic().ordered);
  const std::string_view *const name = std::find_if(std::begin(query_names), std::end(query_names),
                                                    [&](std::string_view one) { return has(words, one); });
  if (name == std::end(query_names)) throw UnsupportedInstruction{"is not supported"};
  const std::uint32_t handle = full_address(operand(1));
  const std::uint32_t level = count() > 2 ? source(operand(2), 4) : constant(4, 0);
  Op &op =
      emit(words[0] == "txq" ? "texture.query" : "surface.query", destination(operand(0), 4), handle, level);
  op.extra = static_cast<std::uint32_t>(name - std::begin(query_names));
}

void FunctionDecoder::decode_surface() {
  const Words words = split(mnemonic().ordered);
  ImageAccess access;
  access.geometry = geometry_of(words);
  access.has_integer_coordinates = true;
  access.outside = has(words, "clamp") ? Outside::clamp : has(words, "zero") ? Outside::zero : Outside::trap;
  access.is_formatted = has(words, "p");
  access.vector = has(words, "v2") ? 2 : has(words, "v4") ? 4 : 1;
  const bool loads = words[0] == "suld", reduces = words[0] == "sured";
  const std::string_view type = spelling(mnemonic().type());
  access.bytes = static_cast<std::uint8_t>(bytes_of(type));
  const Operand &handle = image_coordinates(operand(loads ? 1 : 0), access);
  const Operand &values = operand(loads ? 0 : 1);
  unsigned register_bytes = 0;
  const auto value = [&](unsigned i) -> const Operand & {
    return values.kind == OperandKind::vector ? element(values, i) : values;
  };
  for (unsigned i = 0; i < access.vector; ++i)
    if (value(i).kind == OperandKind::reg)
      register_bytes = std::max(register_bytes, width(register_type(value(i))));
  if (register_bytes == 0) register_bytes = std::max(2u, unsigned{access.bytes});
  access.register_bytes = static_cast<std::uint8_t>(register_bytes);
  for (unsigned i = 0; i < access.vector; ++i) {
    if (loads && value(i).kind == OperandKind::sink) continue;
    access.at[ImageAccess::values + i] =
        loads ? destination(value(i), register_bytes) : source(value(i), register_bytes, type);
  }
  if (reduces) {
    access.operation = atomic_operation(words);
    const auto kind = atomic_kind(access.is_formatted ? "u64" : type);
    if (!kind) throw UnsupportedInstruction{"is not supported"};
    access.type = *kind;
  }
  emit_image(loads                 ? "surface.load"
             : reduces             ? "surface.reduce"
             : access.is_formatted ? "surface.store_formatted"
                                   : "surface.store",
             handle, access);
}

}  // namespace cushim::ptx::execute
