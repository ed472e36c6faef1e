// SPDX-License-Identifier: Apache-2.0
// The keywords of PTX as dense enumerations: opcodes, modifiers, types, special registers, state spaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cushim::ptx {

// The text of an instruction before its first dot. Identifiers that C++ reserves end in an underscore.
enum class Opcode : std::uint16_t {
#define CUSHIM_PTX_OPCODE(identifier, spelling) identifier,
#include <cushim/ptx/opcodes.inc>
#undef CUSHIM_PTX_OPCODE
  count
};

// Each piece of an instruction after a dot. The types come first, with the values of Type. In an identifier
// "::" is "_", one that would begin with a digit begins with "_", and one that C++ reserves ends in "_".
enum class Modifier : std::uint16_t {
#define CUSHIM_PTX_TYPE(identifier, spelling) identifier,
#include <cushim/ptx/types.inc>
#undef CUSHIM_PTX_TYPE
#define CUSHIM_PTX_MODIFIER(identifier, spelling) identifier,
#include <cushim/ptx/modifiers.inc>
#undef CUSHIM_PTX_MODIFIER
  count
};

// A PTX type: .u32, .f16x2, ...
enum class Type : std::uint8_t {
#define CUSHIM_PTX_TYPE(identifier, spelling) identifier,
#include <cushim/ptx/types.inc>
#undef CUSHIM_PTX_TYPE
  count,
  none = 255
};

// A special register: %tid, %clock64, ...
enum class SpecialRegister : std::uint8_t {
#define CUSHIM_PTX_SPECIAL(identifier, spelling, type, components) identifier,
#include <cushim/ptx/special_registers.inc>
#undef CUSHIM_PTX_SPECIAL
  count
};

// A state space: .global, .shared, ...
enum class StateSpace : std::uint8_t { none, reg, sreg, const_, global, local, param, shared, tex };

// The interpretation of a type's bits. `reference`: texref, samplerref, surfref.
enum class TypeClass : std::uint8_t {
  untyped,
  unsigned_integer,
  signed_integer,
  floating,
  packed,
  predicate,
  reference
};

// Return the PTX spelling, without the leading dot.
std::string_view spelling(Opcode opcode);
std::string_view spelling(Modifier modifier);
std::string_view spelling(Type type);
std::string_view spelling(SpecialRegister special);
std::string_view spelling(StateSpace space);

// Find a keyword by its spelling, without the leading dot; empty if PTX has no such keyword.
std::optional<Opcode> find_opcode(std::string_view spelling);
std::optional<Modifier> find_modifier(std::string_view spelling);
std::optional<SpecialRegister> find_special(std::string_view spelling);

// Returns Type::none for a modifier that is not a type.
constexpr Type type_of(Modifier modifier) {
  return static_cast<unsigned>(modifier) < static_cast<unsigned>(Type::count) ? static_cast<Type>(modifier)
                                                                              : Type::none;
}
constexpr Modifier modifier_of(Type type) { return static_cast<Modifier>(type); }

// Returns the width in bits: 1 for pred, 64 for texref, samplerref and surfref, 0 for none.
unsigned bits(Type type);
TypeClass type_class(Type type);

// Returns the type of the register's value.
Type type_of(SpecialRegister special);
unsigned components(SpecialRegister special);  // 1, or 4 for registers with .x .y .z .w

}  // namespace cushim::ptx
