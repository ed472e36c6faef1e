// SPDX-License-Identifier: Apache-2.0
// Forms of instructions on registers, from the parser's table.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "hand_forms.hpp"
#include "suite.hpp"

namespace cushim::ptx::random {
namespace {

struct Row {
  std::string_view opcode, modifiers, operands;
  int version;
  std::string_view target;
};
constexpr Row parser_rows[] = {
#define FORM(opcode, modifiers, operands, version, target) {opcode, modifiers, operands, version, #target},
#include "forms.inc"
#undef FORM
};
const std::map<std::string_view, std::string_view> sets{
#define SET(name, alternatives) {name, alternatives},
#include "form_sets.inc"
#undef SET
};

constexpr std::string_view opcodes[] = {
    "add",      "addc",  "sub",  "subc",  "mul",  "mad",  "madc", "mul24", "mad24", "sad",  "div",
    "rem",      "abs",   "neg",  "min",   "max",  "popc", "clz",  "bfind", "fns",   "brev", "bfe",
    "bfi",      "szext", "bmsk", "dp4a",  "dp2a", "fma",  "rcp",  "sqrt",  "rsqrt", "sin",  "cos",
    "lg2",      "ex2",   "tanh", "testp", "set",  "setp", "selp", "slct",  "and",   "or",   "xor",
    "copysign", "not",   "cnot", "lop3",  "shf",  "shl",  "shr",  "prmt",  "cvt"};

using Words = std::vector<std::string>;

Words split(std::string_view text, char separator) {
  Words all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string expanded(std::string_view modifiers) {
  std::string text{modifiers};
  for (std::size_t at; (at = text.find('$')) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of("/? ", at), text.size());
    const std::string name = text.substr(at + 1, end - at - 1);
    const auto set = sets.find(name);
    text.replace(at, end - at, set == sets.end() ? std::string_view{"?"} : set->second);
  }
  return text;
}

// Returns the lists of modifiers that the row allows.
std::vector<Words> choices(const Row &row) {
  std::vector<Words> all{{}};
  for (const std::string &slot : split(expanded(row.modifiers), ' ')) {
    const bool optional = slot.back() == '?';
    std::vector<Words> longer;
    for (const Words &one : all) {
      if (optional) longer.push_back(one);
      for (const std::string &word : split(optional ? slot.substr(0, slot.size() - 1) : slot, '/')) {
        longer.push_back(one);
        longer.back().push_back(word);
      }
    }
    all = std::move(longer);
  }
  return all;
}

bool is_type(std::string_view word) {
  static const std::set<std::string_view> others{"pred",   "f16",   "bf16",   "f32",   "f64",
                                                 "tf32",   "f16x2", "bf16x2", "f32x2", "e4m3x2",
                                                 "e5m2x2", "u16x2", "s16x2"};
  if (others.contains(word)) return true;
  return word.size() >= 2 && word.size() <= 4 && std::string_view("usb").find(word[0]) != word.npos &&
         word.find_first_not_of("0123456789", 1) == word.npos;
}

// Returns the kind of values of a type.
std::string kind_of(std::string_view type) {
  if (type == "pred") return "p";
  if (index_of_kind(type) < std::size(kinds)) return std::string{type};
  if (type == "tf32") return "f32";
  if (type == "u16x2" || type == "s16x2") return "i16x2";
  if (type.find("64") != type.npos) return "i64";
  return type.find("32") != type.npos ? "i32" : "i16";
}

// Makes the statement of one instruction and the operands that forms.inc lists.
class Maker {
 public:
  Maker(const Row &row, Words modifiers, bool wide)
      : row_(row), modifiers_(std::move(modifiers)), wide_(wide) {
    for (const std::string &one : modifiers_)
      if (is_type(one)) types_.push_back(one);
  }

  Form make(std::string_view lookup_table) {
    const Words rules = split(row_.operands, ' ');
    for (const std::string &rule : rules) {
      const bool optional = rule.back() == '?';
      if (optional && !has("and") && !has("or") && !has("xor")) continue;
      operand(rule, lookup_table);
    }
    std::string name{row_.opcode};
    for (const std::string &one : modifiers_) name += "." + one;
    std::string text;
    const bool takes = row_.opcode == "addc" || row_.opcode == "subc" || row_.opcode == "madc";
    const bool borrows = row_.opcode.starts_with("sub");
    if (takes) {
      const std::string carry = input("p", false);
      text += borrows ? ".reg .u32 s; sub.cc.u32 s, 0, " + carry + "; "
                      : ".reg .u32 s; add.cc.u32 s, -1, " + carry + "; ";
    }
    text += before_ + name + " " + operands_ + "; ";
    if (has("cc")) {
      text += borrows ? ".reg .u32 t; subc.u32 t, 0, 0; " : ".reg .u32 t; addc.u32 t, 0, 0; ";
      text += "setp.ne.u32 q, t, 0; ";
      form_.result == "i64" ? text += "@q xor.b64 %d, %d, 0x9e3779b97f4a7c15;"
                            : text += "@q xor.b32 %d, %d, 0x9e3779b9;";
    }
    text += after_;
    const bool alone = text.find("; ") == text.size() - 2;
    form_.body = alone ? text.substr(0, text.size() - 1) : "{.reg .pred q, r; " + text + "}";
    return form_;
  }

 private:
  bool has(std::string_view word) const {
    return std::find(modifiers_.begin(), modifiers_.end(), word) != modifiers_.end();
  }
  std::string type(std::string_view rule) const {
    if (rule[1] == ':') return std::string{rule.substr(2, rule.find('?') - 2)};
    const auto index = static_cast<std::size_t>(rule[1] - '0');
    return index < types_.size() ? types_[index] : "b32";
  }
  bool is_byte(std::string_view rule) const { return type(rule) == "u8" || type(rule) == "s8"; }
  void append(const std::string &one) { operands_ += (operands_.empty() ? "" : ", ") + one; }
  std::string input(std::string kind, bool predicate) {
    const std::size_t place = form_.inputs.size();
    form_.inputs.push_back(std::move(kind));
    return std::string(predicate ? "%p" : "%") + "abce"[place];
  }
  std::string kind_for(std::string_view rule) const {
    const std::string_view op = row_.opcode;
    const std::size_t place = form_.inputs.size();
    if (op == "fns" && place > 0) return place == 1 ? "b5" : "s5";
    static constexpr std::string_view shifts[] = {"shl", "shr", "shf", "bfe", "bfi", "szext", "bmsk"};
    if (std::find(std::begin(shifts), std::end(shifts), op) != std::end(shifts) &&
        (rule[1] == ':' || op == "bmsk"))
      return "n32";
    return kind_of(type(rule));
  }
  void operand(std::string_view rule, std::string_view lookup_table) {
    switch (rule[0]) {
      case 'd':
      case 'D':
      case 'M':
      case 'm':
        if (rule[0] == 'd' && is_byte(rule)) {
          before_ += ".reg .b8 u; ";
          after_ += "cvt.u16." + type(rule) + " %d, u;";
          form_.result = "i16";
          return append("u");
        }
        form_.result = wide_ && rule[0] == 'M' ? "i64" : kind_of(type(rule));
        return append("%d");
      case 'w':
        form_.result = "i" + std::to_string(2 * width_of_kind(kind_of(type(rule))));
        return append("%d");
      case 'W':
        return append(input("i" + std::to_string(2 * width_of_kind(kind_of(type(rule)))), false));
      case 'C':
        after_ += "@q xor.b32 %d, %d, 0x5a5a5a5a;";
        return append("%d|q");
      case 'p':
        after_ += "selp.u32 %d, 1, 0, q;";
        return append("q");
      case 'P':
        after_ += "selp.u32 %d, 1, 0, q; @r or.b32 %d, %d, 2;";
        return append("q|r");
      case 'q':
        return append(input("p", true));
      case 'i':
        return append(std::string{lookup_table});
      case 'N':
        return append(input(wide_ ? "i64" : kind_for(rule), false));
      default:
        if (is_byte(rule)) {
          before_ += ".reg .b8 u; cvt.u8.u16 u, " + input("i16", false) + "; ";
          return append("u");
        }
        return append(input(kind_for(rule), false));
    }
  }

  const Row &row_;
  Words modifiers_;
  bool wide_;
  Words types_;
  Form form_;
  std::string operands_, before_, after_;
};

// Appends each set with a guard that is true in odd rows, and an old value of the result.
void add_guarded_sets(std::vector<Form> &to) {
  for (std::size_t i = 0, count = to.size(); i < count; ++i) {
    if (!to[i].body.starts_with("set.")) continue;
    Form made = to[i];
    made.inputs.resize(places - 1, "p");
    made.inputs.push_back(made.result);
    made.body = "{.reg .pred g; .reg .b32 t; and.b32 t, %i, 1; setp.ne.u32 g, t, 0; mov.b" +
                std::to_string(width_of_kind(made.result)) + " %d, %e; @g " + made.body + "}";
    to.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Form> forms() {
  std::vector<Form> all;
  std::set<std::string> seen;
  const auto add = [&](const Row &row, const Words &modifiers, bool wide, std::string_view lookup_table) {
    Form made = Maker(row, modifiers, wide).make(lookup_table);
    if (seen.insert(made.body).second) all.push_back(std::move(made));
  };
  for (const Row &row : parser_rows) {
    if (std::find(std::begin(opcodes), std::end(opcodes), row.opcode) == std::end(opcodes)) continue;
    if (row.version > 90 || (row.target.size() > 2 && row.target != "90a")) continue;
    // PTX since 3.2 requires a rounding of mad.f32.
    if (row.opcode == "mad" && row.modifiers == "ftz? sat? f32") continue;
    for (const Words &modifiers : choices(row)) {
      if (row.opcode != "lop3") {
        add(row, modifiers, false, "");
      } else {
        for (const auto *const lookup_table :
             {"0x00", "0x1a", "0x2d", "0x80", "0x96", "0xca", "0xe8", "0xff"})
          add(row, modifiers, false, lookup_table);
      }
      const bool converts_integers = std::all_of(modifiers.begin(), modifiers.end(), [](const auto &one) {
        return one == "sat" || one[0] == 'u' || one[0] == 's';
      });
      if (row.opcode == "cvt" && converts_integers && row.operands.find('N') != row.operands.npos)
        add(row, modifiers, true, "");
    }
  }
  add_video_forms(all);
  add_move_forms(all);
  add_memory_forms(all);
  add_guarded_sets(all);
  return all;
}

}  // namespace cushim::ptx::random
