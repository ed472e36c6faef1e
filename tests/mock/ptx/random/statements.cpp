// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>

namespace cushim::ptx::random {
namespace {

// Returns the name of the instruction that a form is about.
std::string_view instruction(const Form &form) {
  std::string_view text = form.body;
  if (text.starts_with("{.reg .pred q, r; ")) text.remove_prefix(18);
  return text.substr(0, text.find(' '));
}

bool rounds(std::string_view name) {
  return contains(name, ".rn") || contains(name, ".rz") || contains(name, ".rm") || contains(name, ".rp");
}

// Returns whether the compiler may not change the result of the form by the instructions around it, and the
// result is defined for all operands.
bool is_defined(const Form &form) {
  for (const auto *const inexact : {"tanh.approx", "approx.f64", "approx.ftz.f64"})
    if (contains(form.body, inexact)) return false;
  // ptxas takes the upper half of such an operand from another register.
  if (contains(form.body, "shared.add.noftz") && contains(form.body, "x2")) return false;
  if (contains(form.body, "@g set")) return false;
  const std::string_view name = instruction(form);
  if (contains(form.body, "%own") && contains(form.body, "atom") && contains(form.body, ".v")) return false;
  if (name.starts_with("fns")) return false;
  for (const auto *const fused : {"add.", "sub.", "mul."})
    if (name.starts_with(fused) && is_float(form.result)) return rounds(name);
  if (name.starts_with("mad.") && is_float(form.result)) return rounds(name);
  if (name.starts_with("div.") || name.starts_with("rem.")) return is_float(form.result);
  return true;
}

// Returns whether the bits of a NaN result may depend on the instructions around it.
bool nan_varies(const Form &form) {
  if (!is_float(form.result)) return false;
  if (form.result == "f64") return true;
  for (const auto *const name : {"neg.", "abs.", "copysign.", "min.", "max.", "cvt.", "atom.", "red."})
    if (contains(form.body, name)) return true;
  return false;
}

// The forms of programs, grouped by opcode.
struct Pool {
  using Groups = std::vector<std::vector<Form>>;
  Groups anywhere, together, comparisons, pairs, conversions;
};

const Pool &pool() {
  static const Pool made = [] {
    std::map<std::string, std::vector<Form>> groups;
    Pool all;
    for (Form &form : forms()) {
      if (!is_defined(form)) continue;
      const std::string_view name = instruction(form);
      const bool is_plain = name.find_first_of("{.") != 0;
      std::string group{is_plain ? name.substr(0, name.find('.')) : "memory"};
      if (contains(form.body, ".sync")) group = "sync" + group;
      if (contains(name, "x2") && group != "setp" && group != "memory") groups["pairs"].push_back(form);
      groups[group].push_back(std::move(form));
    }
    all.pairs.push_back(std::move(groups["pairs"]));
    all.conversions.push_back(groups["cvt"]);
    groups.erase("pairs");
    for (auto &[name, list] : groups) {
      Pool::Groups &to = name == "setp"             ? all.comparisons
                         : name.starts_with("sync") ? all.together
                                                    : all.anywhere;
      const std::size_t weight = name == "memory" ? 6 : name == "cvt" ? 4 : name == "syncmemory" ? 8 : 1;
      for (std::size_t i = 0; i < weight; ++i) to.push_back(list);
    }
    return all;
  }();
  return made;
}

const Form &any_form(const Pool::Groups &groups, Random &random) { return random.pick(random.pick(groups)); }

// Returns the body with the registers that `replaced` gives for %NAME.
std::string substituted(std::string_view body, const std::function<std::string(std::string_view)> &replaced) {
  std::string text;
  for (std::size_t i = 0; i < body.size();) {
    if (body[i] != '%') {
      text += body[i++];
      continue;
    }
    std::size_t end = i + 1;
    while (end < body.size() &&
           (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_'))
      ++end;
    text += replaced(body.substr(i + 1, end - i - 1));
    i = end;
  }
  return text;
}

std::string literal(std::string_view kind, Random &random) {
  if (kind == "n32") return decimal(random.below(32));
  return decimal(draw(kind, random) & (kind == "i16" ? 0x7fff : 0x7fffffff));
}

// Returns a form applied to registers of the program.
Statement applied(const Form &form, Random &random, bool may_guard) {
  Statement made;
  const bool single = form.body.find(';') == form.body.size() - 1;
  std::array<std::string, 4> operands, flags;
  std::string before;
  bool copies = !single;
  for (std::size_t i = 0; i < form.inputs.size(); ++i) {
    const std::string &kind = form.inputs[i];
    flags[i] = any_predicate(random);
    if (kind == "p") {
      operands[i] = "%q" + decimal(i);
      if (contains(form.body, std::string(", %") + "abce"[i] + ";"))
        before += "selp.u32 " + operands[i] + ", 1, 0, " + flags[i] + "; ";
    } else {
      operands[i] = any_register(kind, random);
    }
  }
  static constexpr std::string_view with_literals[] = {"add.", "sub.", "mul.", "and.", "or.",
                                                       "xor.", "shl.", "shr.", "min.", "max.",
                                                       "mad.", "bfe.", "sad.", "vadd."};
  if (single && form.inputs.size() >= 2 && random.one_in(6) && !is_float(form.inputs.back()) &&
      !contains(form.inputs.back(), "x2") && form.inputs.back() != "p" && !contains(form.body, "x2") &&
      std::any_of(std::begin(with_literals), std::end(with_literals),
                  [&](auto one) { return form.body.starts_with(one); }) &&
      !form.body.starts_with("vadd."))
    operands[form.inputs.size() - 1] = literal(form.inputs.back(), random);
  const std::string d = any_register(form.result, random);
  // Forms of several instructions may write their operands and read their result.
  std::string scope;
  if (copies) {
    for (std::size_t i = 0; i < form.inputs.size(); ++i) {
      if (form.inputs[i] == "p") continue;
      const std::string w = decimal(width_of_kind(form.inputs[i])), name = "%a" + decimal(i);
      scope += ".reg .b" + w + " " + name + "; mov.b" + w + " " + name + ", " + operands[i] + "; ";
      operands[i] = name;
    }
  }
  const std::string w = decimal(width_of_kind(form.result));
  const std::string target = copies ? "%ad" : d;
  if (copies) scope += ".reg .b" + w + " %ad; mov.b" + w + " %ad, 0; ";
  std::string text = substituted(form.body, [&](std::string_view name) -> std::string {
    if (name == "d") return std::string(target);
    if (name == "i") return "%tid.x";
    const std::size_t plain = name.size() == 1 ? std::string_view("abce").find(name[0]) : name.npos;
    if (plain != name.npos) return operands[plain];
    const std::size_t flag =
        name.size() == 2 && name[0] == 'p' ? std::string_view("abce").find(name[1]) : name.npos;
    if (flag != name.npos) return flags[flag];
    return "%" + std::string{name};
  });
  if (may_guard && single && random.one_in(5))
    text = joined({random.one_in(2) ? "@" : "@!", any_predicate(random), " ", text});
  if (copies) text = "{" + scope + text + " mov.b" + w + " " + d + ", %ad;}";
  made.text = before + text;
  if (nan_varies(form)) made.text += " " + one_nan(d, form.result);
  made.writes.push_back({d, form.result});
  return made;
}

// Returns whether the last operand of a comparison is p or q. ptxas moves a comparison that is combined with
// its own result by xor out of a loop, as if all rounds gave the same result.
bool changes_itself(std::string_view text, std::string_view p, std::string_view q) {
  return text.ends_with(joined({p, ";"})) || text.ends_with(joined({q, ";"}));
}

Statement compare(Random &random) {
  const Form &form = any_form(pool().comparisons, random);
  Form only = form;
  only.body = form.body.substr(18, form.body.find(';', 18) - 17);  // setp... q|r, %a, %b;
  const std::string p = any_predicate(random), q = any_predicate(random);
  const std::string both = p == q ? p + "|_" : p + "|" + q;
  const bool pair = contains(only.body, "q|r");
  only.body.replace(only.body.find(pair ? "q|r" : " q,") + (pair ? 0 : 1), pair ? 3 : 1,
                    pair && p != q ? both : p);
  // A comparison of pairs needs two predicates.
  if (pair && p == q && contains(only.body, "x2")) return compare(random);
  Statement made = applied(only, random, true);
  if (contains(only.body, ".xor") && changes_itself(made.text, p, pair ? q : p)) return compare(random);
  made.writes = {{p, "p"}};
  if (pair && p != q) made.writes.push_back({q, "p"});
  return made;
}

Statement divide(Random &random) {
  static constexpr std::string_view types[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
  const std::string type{random.pick(types)}, w = type.substr(1), kind = "i" + w;
  const std::string d = any_register(kind, random);
  const std::uint64_t positive = w == "16" ? 0x7fff : w == "32" ? 0x7fffffff : 0x7fffffffffffffff;
  return {joined({"{.reg .b", w, " n; or.b", w, " n, ", any_register(kind, random), ", 1; and.b", w,
                  " n, n, ", decimal(positive), "; ", random.one_in(2) ? "div." : "rem.", type, " ", d, ", ",
                  any_register(kind, random), ", n;}"}),
          {{d, kind}}};
}

Statement move(Random &random) {
  const RegisterClass &to = random.pick(register_classes);
  std::vector<std::string_view> same;
  for (const RegisterClass &one : register_classes)
    if (width_of_kind(one.kind) == width_of_kind(to.kind)) same.push_back(one.kind);
  const std::string d = any_register(to.kind, random), w = decimal(width_of_kind(to.kind));
  const std::string a = any_register(random.pick(same), random);
  if (random.one_in(2)) return {"mov.b" + w + " " + d + ", " + a + ";", {{d, std::string{to.kind}}}};
  return {joined({"selp.b", w, " ", d, ", ", a, ", ", any_register(random.pick(same), random), ", ",
                  any_predicate(random), ";"}),
          {{d, std::string{to.kind}}}};
}

Statement predicate_logic(Random &random) {
  static constexpr std::string_view operations[] = {"and", "or", "xor"};
  const std::string d = any_predicate(random);
  if (random.one_in(4)) return {"not.pred " + d + ", " + any_predicate(random) + ";", {{d, "p"}}};
  const std::string_view operation = random.pick(operations);
  std::string a = any_predicate(random), b = any_predicate(random);
  while (operation == "xor" && (a == d || b == d)) a = any_predicate(random), b = any_predicate(random);
  return {joined({operation, ".pred ", d, ", ", a, ", ", b, ";"}), {{d, "p"}}};
}

// Returns a load of a vector. `index` sets n to a number below 64.
Statement wide_load(Random &random, const std::string &index) {
  static constexpr std::string_view spaces[] = {"const",           "global",
                                                "global.nc",       "global.ca",
                                                "global.cg",       "global.L1::no_allocate",
                                                "volatile.global", "relaxed.gpu.global"};
  static constexpr struct {
    std::string_view type, names, kinds;
  } vectors[] = {{"v4.b32", "%r1, %f2, %r3, %y2", "i32 f32 i32 bf16x2"},
                 {"v2.f32", "%f0, %f5", "f32 f32"},
                 {"v4.u16", "%h0, %e1, %g2, %h3", "i16 f16 bf16 i16"},
                 {"v2.s16", "%h4, %h5", "i16 i16"},
                 {"v4.u8", "%h1, %h2, %h3, %h4", "i16 i16 i16 i16"},
                 {"v2.s8", "%r5, %r6", "i32 i32"},
                 {"v2.f64", "%v1, %v4", "f64 f64"},
                 {"v2.b64", "%l0, %l3", "i64 i64"}};
  const std::string_view space = random.pick(spaces);
  const auto &chosen = random.pick(vectors);
  std::string text = index + "and.b32 n, n, 62; ";
  text += space == "const" ? "mov.u64 m, numbers; mad.wide.u32 m, n, 8, m; " : "mad.wide.u32 m, n, 8, %in; ";
  Statement made{joined({text, "ld.", space, ".", chosen.type, " {", chosen.names, "}, [m];}"}), {}};
  std::string_view names = chosen.names, kinds_left = chosen.kinds;
  while (!names.empty()) {
    const std::size_t space_at = std::min(kinds_left.find(' '), kinds_left.size());
    made.writes.push_back({std::string{names.substr(0, 3)}, std::string{kinds_left.substr(0, space_at)}});
    names.remove_prefix(std::min<std::size_t>(5, names.size()));
    kinds_left.remove_prefix(std::min(space_at + 1, kinds_left.size()));
  }
  return made;
}

Statement table_load(Random &random) {
  static constexpr std::string_view kinds_read[] = {"i32", "f32", "i64", "f64", "i16", "bf16"};
  const std::string kind{random.pick(kinds_read)}, d = any_register(kind, random),
                                                   w = decimal(width_of_kind(kind));
  const std::string index = "{.reg .b32 n; .reg .b64 m; and.b32 n, " + any_register("i32", random) + ", 63; ";
  switch (random.below(4)) {
    case 0:
      return {index + "mov.u64 m, numbers; mad.wide.u32 m, n, 8, m; ld.const.b" + w + " " + d + ", [m];}",
              {{d, kind}}};
    case 1:
      return {index + "mad.wide.u32 m, n, 8, %in; ld.global.nc.b" + w + " " + d + ", [m];}", {{d, kind}}};
    case 2: {
      const std::string second = any_register("i64", random), first = any_register("f64", random);
      return {index + "and.b32 n, n, 62; mad.wide.u32 m, n, 8, %in; ld.global.v2.b64 {" + first + ", " +
                  second + "}, [m];}",
              {{first, "f64"}, {second, "i64"}}};
    }
    default:
      return wide_load(random, index);
  }
}

}  // namespace

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string decimal(std::uint64_t value) { return std::to_string(value); }

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view one : parts) text += one;
  return text;
}

bool is_float(std::string_view kind) { return contains(kind, "f"); }

std::string one_nan(const std::string &name, std::string_view kind) {
  if (kind == "f64")
    return "{.reg .pred n; testp.notanumber.f64 n, " + name + "; @n mov.b64 " + name + ", -1;}";
  const std::string mask_type = width_of_kind(kind) == 16 ? "u16" : "u32", w = decimal(width_of_kind(kind));
  return "{.reg .b" + w + " n; set.nan." + mask_type + "." + std::string{kind} + " n, " + name + ", " + name +
         "; or.b" + w + " " + name + ", " + name + ", n;}";
}

std::string any_register(std::string_view kind, Random &random) {
  if (kind == "n32" || kind == "i16x2" || kind == "b5" || kind == "s5") kind = "i32";
  const auto *const found = std::find_if(std::begin(register_classes), std::end(register_classes),
                                         [&](const auto &one) { return one.kind == kind; });
  return "%" + std::string{found->prefix} + decimal(random.below(found->count));
}

std::string any_predicate(Random &random) { return "%p" + decimal(random.below(predicates)); }

Statement one_of(Random &random, std::initializer_list<WeightedKind> kinds) {
  std::size_t sum = 0;
  for (const WeightedKind &kind : kinds) sum += kind.weight;
  std::size_t chosen = random.below(sum);
  const WeightedKind *kind = kinds.begin();
  while (chosen >= kind->weight) chosen -= (kind++)->weight;
  return kind->make(random);
}

Statement any_statement(Random &random) {
  return one_of(random, {{2, compare},
                         {1, divide},
                         {1, move},
                         {1, predicate_logic},
                         {2, table_load},
                         {1, asynchronous_copy},
                         {2, [](Random &r) { return applied(any_form(pool().pairs, r), r, true); }},
                         {1, [](Random &r) { return applied(any_form(pool().conversions, r), r, true); }},
                         {9, [](Random &r) { return applied(any_form(pool().anywhere, r), r, true); }}});
}

Statement warp_statement(Random &random) { return applied(any_form(pool().together, random), random, false); }

}  // namespace cushim::ptx::random
