// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/vocabulary.hpp>

#include <array>
#include <cstddef>

#include "name_table.hpp"

namespace cushim::ptx {
namespace {

constexpr std::string_view opcodes[] = {
#define CUSHIM_PTX_OPCODE(identifier, spelling) spelling,
#include <cushim/ptx/opcodes.inc>
#undef CUSHIM_PTX_OPCODE
};

constexpr std::string_view modifiers[] = {
#define CUSHIM_PTX_TYPE(identifier, spelling) spelling,
#include <cushim/ptx/types.inc>
#undef CUSHIM_PTX_TYPE
#define CUSHIM_PTX_MODIFIER(identifier, spelling) spelling,
#include <cushim/ptx/modifiers.inc>
#undef CUSHIM_PTX_MODIFIER
};

struct Special {
  std::string_view spelling;
  Type type;
  unsigned components;
};

constexpr Special specials[] = {
#define CUSHIM_PTX_SPECIAL(identifier, spelling, type, components) {spelling, Type::type, components},
#include <cushim/ptx/special_registers.inc>
#undef CUSHIM_PTX_SPECIAL
};

constexpr std::string_view spaces[] = {"",      "reg",   "sreg",   "const", "global",
                                       "local", "param", "shared", "tex"};

struct Shape {
  std::uint8_t bits;
  TypeClass type_class;
};

constexpr std::size_t number_of_types = static_cast<std::size_t>(Type::count);

// Returns the decimal number at `at`; 0 if there is none.
constexpr unsigned number(std::string_view text, std::size_t at) {
  unsigned value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    value = value * 10 + static_cast<unsigned>(text[at] - '0');
  return value;
}

// Derives the shape from the spelling: a letter, a width, and "x" with the element count of a packed type.
constexpr Shape shape_of(std::string_view text) {
  if (text == "pred") return {1, TypeClass::predicate};
  if (text == "texref" || text == "samplerref" || text == "surfref") return {64, TypeClass::reference};
  if (text == "b1024") return {0, TypeClass::untyped};  // only the type of an operand in memory
  if (text == "b4x16_p64" || text == "b6x16_p32" || text == "b6p2x16" || text == "b8x16")
    return {128, TypeClass::packed};
  if (text == "b4x16") return {64, TypeClass::packed};
  if (text == "tf32") return {32, TypeClass::floating};
  const std::size_t x = text.find('x');
  const unsigned elements = x == std::string_view::npos ? 1 : number(text, x + 1);
  unsigned width = 0;
  if (text.starts_with("e4m3") || text.starts_with("e5m2") || text.starts_with("ue")) width = 8;
  if (text.starts_with("e3m2") || text.starts_with("e2m3")) width = elements > 1 ? 8 : 6;
  if (text.starts_with("e2m1")) width = 4;
  if (text.starts_with("bf")) width = 16;
  if (width == 0) width = number(text, 1);
  const auto all = static_cast<std::uint8_t>(width * elements);
  if (elements > 1) return {all, TypeClass::packed};
  if (text.starts_with("bf") || text[0] == 'f' || text[0] == 'e' || text.starts_with("ue"))
    return {all, TypeClass::floating};
  if (text[0] == 'u') return {all, TypeClass::unsigned_integer};
  if (text[0] == 's') return {all, TypeClass::signed_integer};
  return {all, TypeClass::untyped};
}

constexpr std::array<Shape, number_of_types> shapes = [] {
  std::array<Shape, number_of_types> made{};
  for (std::size_t i = 0; i < number_of_types; ++i) made[i] = shape_of(modifiers[i]);
  return made;
}();

}  // namespace

std::string_view spelling(Opcode opcode) { return opcodes[static_cast<std::size_t>(opcode)]; }
std::string_view spelling(Modifier modifier) { return modifiers[static_cast<std::size_t>(modifier)]; }
std::string_view spelling(Type type) { return type == Type::none ? "" : spelling(modifier_of(type)); }
std::string_view spelling(SpecialRegister special) {
  return specials[static_cast<std::size_t>(special)].spelling;
}
std::string_view spelling(StateSpace space) { return spaces[static_cast<std::size_t>(space)]; }

std::optional<Opcode> find_opcode(std::string_view spelling) {
  static const NameTable table(opcodes);
  const std::uint32_t index = table.find(spelling);
  if (index == NameTable::none) return std::nullopt;
  return static_cast<Opcode>(index);
}

std::optional<Modifier> find_modifier(std::string_view spelling) {
  static const NameTable table(modifiers);
  const std::uint32_t index = table.find(spelling);
  if (index == NameTable::none) return std::nullopt;
  return static_cast<Modifier>(index);
}

std::optional<SpecialRegister> find_special(std::string_view spelling) {
  static const NameTable table = [] {
    std::array<std::string_view, std::size(specials)> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = specials[i].spelling;
    return NameTable(words);
  }();
  const std::uint32_t index = table.find(spelling);
  if (index == NameTable::none) return std::nullopt;
  return static_cast<SpecialRegister>(index);
}

unsigned bits(Type type) { return type == Type::none ? 0 : shapes[static_cast<std::size_t>(type)].bits; }

TypeClass type_class(Type type) {
  return type == Type::none ? TypeClass::untyped : shapes[static_cast<std::size_t>(type)].type_class;
}

Type type_of(SpecialRegister special) { return specials[static_cast<std::size_t>(special)].type; }
unsigned components(SpecialRegister special) {
  return specials[static_cast<std::size_t>(special)].components;
}

}  // namespace cushim::ptx
