// SPDX-License-Identifier: Apache-2.0
#include "operand_rules.hpp"

#include <algorithm>

namespace cushim::ptx {
namespace {

enum class Width { equal, at_least };

bool classes_agree(Type given, Type wanted) {
  const TypeClass a = type_class(given);
  const TypeClass b = type_class(wanted);
  if (a == TypeClass::predicate || b == TypeClass::predicate) return a == b;
  if (a == TypeClass::untyped || b == TypeClass::untyped || b == TypeClass::packed) return true;
  const bool a_integer = a == TypeClass::unsigned_integer || a == TypeClass::signed_integer;
  const bool b_integer = b == TypeClass::unsigned_integer || b == TypeClass::signed_integer;
  return a_integer ? b_integer : !b_integer;
}

bool type_fits(Type given, Type wanted, Width width) {
  if (wanted == Type::none) return type_class(given) != TypeClass::predicate;
  if (!classes_agree(given, wanted)) return false;
  if (wanted == Type::pred) return true;
  const unsigned rounded = std::max(bits(wanted), 8u);
  if (width == Width::equal) return bits(given) == rounded || (rounded == 8 && bits(given) == 16);
  return bits(given) >= rounded;
}

bool is_pending(const Operand &operand) { return operand.kind == OperandKind::label; }

bool is_video(Opcode opcode) {
  return opcode >= Opcode::vabsdiff && opcode <= Opcode::vsub4 && opcode != Opcode::vote;
}

bool register_fits(const Operand &operand, Type wanted, Width width, const OperandContext &context) {
  if (operand.kind != OperandKind::reg) return false;
  const bool video = is_video(context.mnemonic.opcode);
  if ((operand.negated || operand.count != 0) && !video) return false;
  const Register &given = context.body.registers[operand.index];
  if (given.vector > 1 && !operand.has_component) return context.vector == given.vector;
  return type_fits(given.type, wanted, width);
}

bool constant_fits(const Operand &operand, Type wanted) {
  const TypeClass of_type = type_class(wanted);
  if (wanted == Type::none || of_type == TypeClass::untyped || of_type == TypeClass::packed) return true;
  if (of_type == TypeClass::predicate) return operand.kind == OperandKind::integer;
  return (of_type == TypeClass::floating) == (operand.kind != OperandKind::integer);
}

bool special_fits(const Operand &operand, Type wanted, Width width) {
  const auto special = static_cast<SpecialRegister>(operand.index);
  if (components(special) > 1 && !operand.has_component) return false;
  return !operand.negated && type_fits(type_of(special), wanted, width);
}

bool value_fits(const Operand &operand, Type wanted, Width width, const OperandContext &context) {
  switch (operand.kind) {
    case OperandKind::reg:
      return register_fits(operand, wanted, width, context);
    case OperandKind::special:
      return special_fits(operand, wanted, width) ||
             (type_of(static_cast<SpecialRegister>(operand.index)) == Type::u32 && bits(wanted) == 16 &&
              operand.has_component);
    case OperandKind::integer:
    case OperandKind::f32:
    case OperandKind::f64:
      return constant_fits(operand, wanted);
    case OperandKind::symbol:
    case OperandKind::element:
      return type_class(wanted) != TypeClass::floating && bits(wanted) >= 32;
    default:
      return is_pending(operand);
  }
}

bool predicate_fits(const Operand &operand, bool may_be_sink, const OperandContext &context) {
  if (operand.kind == OperandKind::sink) return may_be_sink;
  return !operand.negated && register_fits(operand, Type::pred, Width::equal, context);
}

bool predicate_value_fits(const Operand &operand, const OperandContext &context) {
  switch (operand.kind) {
    case OperandKind::reg:
      return context.body.registers[operand.index].type == Type::pred;
    case OperandKind::special:
      return type_of(static_cast<SpecialRegister>(operand.index)) == Type::pred;
    default:
      return operand.kind == OperandKind::integer || is_pending(operand);
  }
}

bool address_fits(const Operand &operand, const OperandContext &context) {
  if (operand.kind == OperandKind::element) {
    const Mnemonic &name = context.mnemonic;
    return name.opcode == Opcode::ld || name.opcode == Opcode::ldu ||
           (name.opcode == Opcode::st && name.text.find(".async") == name.text.npos);
  }
  if (operand.kind != OperandKind::address) return is_pending(operand);
  if (operand.base != Base::reg) return true;
  const Register &base = context.body.registers[operand.index];
  const TypeClass of_base = type_class(base.type);
  return !operand.negated && bits(base.type) >= 32 && bits(base.type) <= 64 && of_base != TypeClass::floating;
}

// Returns whether `operand` is a vector of `context.vector` elements that all fit; 0 allows any number.
template <typename Fits>
bool vector_fits(const Operand &operand, const OperandContext &context, Fits fits) {
  if (operand.kind != OperandKind::vector || operand.count == 0) return false;
  if (context.vector != 0 && operand.count != context.vector) return false;
  for (std::uint32_t i = 0; i < operand.count; ++i)
    if (!fits(context.body.operands[operand.index + i])) return false;
  return true;
}

Type wanted_type(const OperandRule &rule, const OperandContext &context) {
  return rule.type_index == OperandRule::no_type ? rule.type : context.mnemonic.type(rule.type_index);
}

Type twice(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

// Integer operands may be in wider registers; operands of other types may not.
Width widening(Type type) { return type_class(type) == TypeClass::floating ? Width::equal : Width::at_least; }

// Floats that are converted may be in wider registers without type, but for bf16.
Width converted(const Operand &operand, Type type, const OperandContext &context) {
  if (operand.kind != OperandKind::reg || type == Type::bf16) return widening(type);
  const Type given = context.body.registers[operand.index].type;
  return type_class(given) == TypeClass::untyped ? Width::at_least : widening(type);
}

// Checks the two operands of d|p, or `operand` alone.
template <typename First>
bool pair_fits(const Operand &operand, const OperandContext &context, First first) {
  if (operand.kind != OperandKind::pair) return first(operand);
  const Operand *both = &context.body.operands[operand.index];
  return first(both[0]) && predicate_fits(both[1], true, context);
}

bool memory_operand_fits(const Operand &operand, Type type, bool is_read, const OperandContext &context) {
  const auto element = [&](const Operand &one) {
    if (one.kind == OperandKind::sink) return !is_read;
    return is_read ? value_fits(one, type, widening(type), context)
                   : is_pending(one) || register_fits(one, type, widening(type), context);
  };
  if (operand.kind == OperandKind::vector) return vector_fits(operand, context, element);
  return (context.vector == 1 || operand.kind == OperandKind::reg) && element(operand);
}

}  // namespace

bool operand_fits(const OperandRule &rule, const Operand &operand, const OperandContext &context) {
  const Type type = wanted_type(rule, context);
  const auto written = [&](const Operand &one) {
    return is_pending(one) || register_fits(one, type, Width::equal, context);
  };
  const auto written_or_sink = [&](const Operand &one) {
    return one.kind == OperandKind::sink || written(one);
  };
  OperandContext any_count = context;
  any_count.vector = 0;
  switch (rule.kind) {
    case 'd':
      return written(operand);
    case 'D':
      return written_or_sink(operand);
    case 'c':
      return pair_fits(operand, context, written);
    case 'C':
      return pair_fits(operand, context, written_or_sink);
    case 'w':
      return is_pending(operand) || register_fits(operand, twice(type), Width::equal, context);
    case 'W':
      return value_fits(operand, twice(type), Width::equal, context);
    case 'm':
    case 'n':
      return memory_operand_fits(operand, type, rule.kind == 'n', context);
    case 'M':
      return is_pending(operand) || register_fits(operand, type, converted(operand, type, context), context);
    case 'N':
      return value_fits(operand, type, converted(operand, type, context), context);
    case 'x':
      return value_fits(operand, type, Width::equal, context);
    case 'e':
      if (operand.kind != OperandKind::vector)
        return operand.kind == OperandKind::special || value_fits(operand, type, Width::equal, context);
      return vector_fits(operand, any_count, [](const Operand &) { return true; });
    case 'v':
      return vector_fits(operand, any_count, [](const Operand &) { return true; });
    case 'Q': {
      const Operand &first =
          operand.kind == OperandKind::pair ? context.body.operands[operand.index] : operand;
      return first.kind == OperandKind::vector || first.kind == OperandKind::reg || is_pending(first);
    }
    case 'p':
      return is_pending(operand) || predicate_fits(operand, false, context);
    case 'P':
      return is_pending(operand) || pair_fits(operand, context, [&](const Operand &one) {
               return predicate_fits(one, true, context);
             });
    case 'q':
      return predicate_value_fits(operand, context);
    case 'a':
      return address_fits(operand, context);
    case 't':
      return operand.kind == OperandKind::bracket || address_fits(operand, context);
    case 'i':
      return operand.kind == OperandKind::integer;
    case 'l':
    case 'b':
      return is_pending(operand);
    default:
      return true;
  }
}

unsigned vector_of(const Mnemonic &mnemonic) {
  for (const Modifier one : mnemonic.modifiers) {
    if (one == Modifier::v2) return 2;
    if (one == Modifier::v4) return 4;
    if (one == Modifier::v8) return 8;
  }
  return 1;
}

}  // namespace cushim::ptx
