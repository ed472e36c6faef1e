// SPDX-License-Identifier: Apache-2.0
#include "forms.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace cushim::ptx {
namespace {

struct Row {
  std::string_view opcode;
  std::string_view modifiers;
  std::string_view operands;
  std::uint16_t version;
  std::string_view target;  // 90 or 90a
};

constexpr Row rows[] = {
#define FORM(opcode, modifiers, operands, version, target) {opcode, modifiers, operands, version, #target},
#include "forms.inc"
#undef FORM
};

// Sets of modifiers, which forms.inc names as $name.
constexpr std::pair<std::string_view, std::string_view> sets[] = {
#define SET(name, alternatives) {name, alternatives},
#include "form_sets.inc"
#undef SET
};

// The sets $wgmmak16, of the shapes m64n8k16 to m64n256k16, and so on. Above n = 32, a set $wgmmaintk32 has
// the multiples of 16 only.
constexpr std::string_view wgmma_sets = "wgmma";

struct Slot {
  std::bitset<static_cast<std::size_t>(Modifier::count)> allowed;
  bool optional = false;
};

struct OperandRule {
  char kind = 0;
  bool optional = false;
  std::uint8_t type_index = no_type;
  Type type = Type::none;  // used if type_index is no_type

  static constexpr std::uint8_t no_type = 255;
};

struct Compiled {
  std::vector<Slot> slots;
  std::vector<OperandRule> operands;
};

constexpr auto number_of_opcodes = static_cast<std::size_t>(Opcode::count);

struct Table {
  std::vector<Form> forms;
  std::vector<Compiled> compiled;
  std::array<std::vector<std::uint16_t>, number_of_opcodes> by_opcode;
};

[[noreturn]] void broken(const Row &row, std::string_view word) {
  throw std::logic_error("instruction table: " + std::string(row.opcode) + ": unknown word '" +
                         std::string(word) + "'");
}

template <typename Each>
void split(std::string_view text, char separator, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string expand(const Row &row) {
  std::string made;
  std::string_view rest = row.modifiers;
  while (true) {
    const std::size_t dollar = rest.find('$');
    made += rest.substr(0, dollar);
    if (dollar == std::string_view::npos) return made;
    rest.remove_prefix(dollar + 1);
    const std::string_view name = rest.substr(0, rest.find_first_of("/? "));
    rest.remove_prefix(name.size());
    if (name.starts_with(wgmma_sets)) {
      const bool integers = name.find("int") != name.npos;
      for (int n = 8; n <= 256; n += integers && n >= 32 ? 16 : 8)
        made += (n == 8 ? "m64n" : "/m64n") + std::to_string(n) + std::string(name.substr(name.find('k')));
      continue;
    }
    const auto *set =
        std::find_if(std::begin(sets), std::end(sets), [&](const auto &one) { return one.first == name; });
    if (set == std::end(sets)) broken(row, name);
    made += set->second;
  }
}

Slot slot_of(const Row &row, std::string_view word) {
  Slot made;
  made.optional = word.ends_with('?');
  if (made.optional) word.remove_suffix(1);
  split(word, '/', [&](std::string_view one) {
    const auto modifier = find_modifier(one);
    if (!modifier) broken(row, one);
    made.allowed.set(static_cast<std::size_t>(*modifier));
  });
  return made;
}

OperandRule rule_of(const Row &row, std::string_view word) {
  OperandRule made;
  made.optional = word.ends_with('?');
  if (made.optional) word.remove_suffix(1);
  made.kind = word[0];
  word.remove_prefix(1);
  if (word.empty()) return made;
  if (word[0] == ':') {
    const auto modifier = find_modifier(word.substr(1));
    if (!modifier) broken(row, word);
    made.type = type_of(*modifier);
  } else {
    made.type_index = static_cast<std::uint8_t>(word[0] - '0');
  }
  return made;
}

Table make_table() {
  Table made;
  for (const Row &row : rows) {
    const auto opcode = find_opcode(row.opcode);
    if (!opcode) broken(row, row.opcode);
    Form form;
    form.text = row.modifiers;
    form.version = row.version;
    std::from_chars(row.target.data(), row.target.data() + row.target.size(), form.sm);
    form.architecture_specific = row.target.ends_with('a');
    Compiled compiled;
    split(expand(row), ' ', [&](std::string_view word) { compiled.slots.push_back(slot_of(row, word)); });
    split(row.operands, ' ', [&](std::string_view word) { compiled.operands.push_back(rule_of(row, word)); });
    made.by_opcode[static_cast<std::size_t>(*opcode)].push_back(
        static_cast<std::uint16_t>(made.forms.size()));
    made.forms.push_back(form);
    made.compiled.push_back(std::move(compiled));
  }
  return made;
}

const Table &table() {
  static const Table made = make_table();
  return made;
}

// Assigns each modifier to the first free slot that allows it. Types keep their order.
bool modifiers_match(const std::vector<Slot> &slots, const std::vector<Modifier> &modifiers) {
  std::uint64_t taken = 0;
  std::size_t next_type = 0;
  for (const Modifier modifier : modifiers) {
    const bool is_type = type_of(modifier) != Type::none;
    std::size_t at = is_type ? next_type : 0;
    while (at < slots.size() &&
           ((taken >> at & 1) != 0 || !slots[at].allowed.test(static_cast<std::size_t>(modifier))))
      ++at;
    if (at == slots.size()) return false;
    taken |= std::uint64_t{1} << at;
    if (is_type) next_type = at + 1;
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    if ((taken >> i & 1) == 0 && !slots[i].optional) return false;
  return true;
}

bool allowed_somewhere(Opcode opcode, Modifier modifier) {
  for (const std::uint16_t form : table().by_opcode[static_cast<std::size_t>(opcode)])
    for (const Slot &slot : table().compiled[form].slots)
      if (slot.allowed.test(static_cast<std::size_t>(modifier))) return true;
  return false;
}

// Returns the error message for a mnemonic that matches no form.
std::string mismatch(const Mnemonic &mnemonic) {
  const std::string name(spelling(mnemonic.opcode));
  for (const Modifier one : mnemonic.modifiers)
    if (type_of(one) == Type::none && !allowed_somewhere(mnemonic.opcode, one))
      return "Illegal modifier '." + std::string(spelling(one)) + "' for instruction '" + name + "'";
  // A modifier is the cause if a form matches without it.
  for (std::size_t i = 0; i < mnemonic.modifiers.size(); ++i) {
    if (type_of(mnemonic.modifiers[i]) != Type::none) continue;
    std::vector<Modifier> others = mnemonic.modifiers;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    for (const std::uint16_t form : table().by_opcode[static_cast<std::size_t>(mnemonic.opcode)])
      if (modifiers_match(table().compiled[form].slots, others))
        return "Illegal modifier '." + std::string(spelling(mnemonic.modifiers[i])) + "' for instruction '" +
               name + "'";
  }
  return "Unexpected instruction types specified for '" + name + "'";
}

// Operands.

struct Context {
  const Mnemonic &mnemonic;
  const Body &body;
  unsigned vector;  // number of elements: 2, 4, 8 for .v2, .v4, .v8, else 1
};

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

bool register_fits(const Operand &operand, Type wanted, Width width, const Context &context) {
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

bool value_fits(const Operand &operand, Type wanted, Width width, const Context &context) {
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

bool predicate_fits(const Operand &operand, bool may_be_sink, const Context &context) {
  if (operand.kind == OperandKind::sink) return may_be_sink;
  return !operand.negated && register_fits(operand, Type::pred, Width::equal, context);
}

bool predicate_value_fits(const Operand &operand, const Context &context) {
  switch (operand.kind) {
    case OperandKind::reg:
      return context.body.registers[operand.index].type == Type::pred;
    case OperandKind::special:
      return type_of(static_cast<SpecialRegister>(operand.index)) == Type::pred;
    default:
      return operand.kind == OperandKind::integer || is_pending(operand);
  }
}

bool address_fits(const Operand &operand, const Context &context) {
  if (operand.kind == OperandKind::element) return true;
  if (operand.kind != OperandKind::address) return is_pending(operand);
  if (operand.base != Base::reg) return true;
  const Register &base = context.body.registers[operand.index];
  const TypeClass of_base = type_class(base.type);
  return !operand.negated && bits(base.type) >= 32 && bits(base.type) <= 64 && of_base != TypeClass::floating;
}

// Returns whether `operand` is a vector of `context.vector` elements that all fit; 0 allows any number.
template <typename Fits>
bool vector_fits(const Operand &operand, const Context &context, Fits fits) {
  if (operand.kind != OperandKind::vector || operand.count == 0) return false;
  if (context.vector != 0 && operand.count != context.vector) return false;
  for (std::uint32_t i = 0; i < operand.count; ++i)
    if (!fits(context.body.operands[operand.index + i])) return false;
  return true;
}

Type wanted_type(const OperandRule &rule, const Context &context) {
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

// Checks the two operands of d|p, or `operand` alone.
template <typename First>
bool pair_fits(const Operand &operand, const Context &context, First first) {
  if (operand.kind != OperandKind::pair) return first(operand);
  const Operand *both = &context.body.operands[operand.index];
  return first(both[0]) && predicate_fits(both[1], true, context);
}

bool memory_operand_fits(const Operand &operand, Type type, bool is_read, const Context &context) {
  const auto element = [&](const Operand &one) {
    if (one.kind == OperandKind::sink) return !is_read;
    return is_read ? value_fits(one, type, widening(type), context)
                   : is_pending(one) || register_fits(one, type, widening(type), context);
  };
  if (operand.kind == OperandKind::vector) return vector_fits(operand, context, element);
  return (context.vector == 1 || operand.kind == OperandKind::reg) && element(operand);
}

bool operand_fits(const OperandRule &rule, const Operand &operand, const Context &context) {
  const Type type = wanted_type(rule, context);
  const auto written = [&](const Operand &one) {
    return is_pending(one) || register_fits(one, type, Width::equal, context);
  };
  const auto written_or_sink = [&](const Operand &one) {
    return one.kind == OperandKind::sink || written(one);
  };
  Context any_count = context;
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
      return is_pending(operand) || register_fits(operand, type, widening(type), context);
    case 'N':
      return value_fits(operand, type, widening(type), context);
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

}  // namespace

std::span<const Form> forms() { return table().forms; }

std::vector<std::uint16_t> matching_forms(const Mnemonic &mnemonic, std::string &reason) {
  std::vector<std::uint16_t> made;
  for (const std::uint16_t form : table().by_opcode[static_cast<std::size_t>(mnemonic.opcode)])
    if (modifiers_match(table().compiled[form].slots, mnemonic.modifiers)) made.push_back(form);
  if (made.empty()) reason = mismatch(mnemonic);
  return made;
}

bool operands_fit(std::uint16_t form, const Mnemonic &mnemonic, std::span<const Operand> operands,
                  const Body &body) {
  const std::vector<OperandRule> &rules = table().compiled[form].operands;
  if (operands.size() > rules.size()) return false;
  if (operands.size() < rules.size() && !rules[operands.size()].optional) return false;
  const Context context{mnemonic, body, vector_of(mnemonic)};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operand_fits(rules[i], operands[i], context)) return false;
  return true;
}

}  // namespace cushim::ptx
