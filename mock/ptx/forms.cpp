// SPDX-License-Identifier: Apache-2.0
#include "forms.hpp"

#include "operand_rules.hpp"

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

#include "accepted_forms.inc"
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

// Assigns each modifier to the first free slot that allows it. Types keep their order. Calls `assign` with
// the index of the slot of each modifier. Returns false if the modifiers do not match.
template <typename Assign>
bool assign_slots(const std::vector<Slot> &slots, const std::vector<Modifier> &modifiers, Assign assign) {
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
    assign(at);
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    if ((taken >> i & 1) == 0 && !slots[i].optional) return false;
  return true;
}

bool modifiers_match(const std::vector<Slot> &slots, const std::vector<Modifier> &modifiers) {
  return assign_slots(slots, modifiers, [](std::size_t) {});
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

}  // namespace

std::span<const Form> forms() { return table().forms; }

std::vector<std::uint16_t> matching_forms(const Mnemonic &mnemonic, std::string &reason) {
  std::vector<std::uint16_t> made;
  for (const std::uint16_t form : table().by_opcode[static_cast<std::size_t>(mnemonic.opcode)])
    if (modifiers_match(table().compiled[form].slots, mnemonic.modifiers)) made.push_back(form);
  if (made.empty()) reason = mismatch(mnemonic);
  return made;
}

std::string in_order(std::uint16_t form, const Mnemonic &mnemonic) {
  std::vector<std::pair<std::size_t, Modifier>> by_slot;
  assign_slots(table().compiled[form].slots, mnemonic.modifiers,
               [&](std::size_t slot) { by_slot.emplace_back(slot, mnemonic.modifiers[by_slot.size()]); });
  const auto earlier = [](const auto &a, const auto &b) { return a.first < b.first; };
  std::string made;
  if (std::is_sorted(by_slot.begin(), by_slot.end(), earlier)) return made;
  std::sort(by_slot.begin(), by_slot.end(), earlier);
  made = spelling(mnemonic.opcode);
  for (const auto &[slot, modifier] : by_slot) made.append(".").append(spelling(modifier));
  return made;
}

bool operands_fit(std::uint16_t form, const Mnemonic &mnemonic, std::span<const Operand> operands,
                  const Body &body) {
  const std::vector<OperandRule> &rules = table().compiled[form].operands;
  if (operands.size() > rules.size()) return false;
  if (operands.size() < rules.size() && !rules[operands.size()].optional) return false;
  const OperandContext context{mnemonic, body, vector_of(mnemonic)};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operand_fits(rules[i], operands[i], context)) return false;
  return true;
}

}  // namespace cushim::ptx
