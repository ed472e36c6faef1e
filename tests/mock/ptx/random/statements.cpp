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

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string decimal(std::uint64_t value) { return std::to_string(value); }

// Returns the name of the instruction that a form is about.
std::string_view instruction(const Form &form) {
  std::string_view text = form.body;
  if (text.starts_with("{.reg .pred q, r; ")) text.remove_prefix(18);
  return text.substr(0, text.find(' '));
}

bool is_float(std::string_view kind) { return contains(kind, "f"); }

bool rounds(std::string_view name) {
  return contains(name, ".rn") || contains(name, ".rz") || contains(name, ".rm") || contains(name, ".rp");
}

// Returns whether the compiler may not change the result of the form by the instructions around it, and the
// result is defined for all operands.
bool is_defined(const Form &form) {
  for (const auto *const inexact : {"tanh.approx", "div.approx", "div.full", "approx.f64", "approx.ftz.f64"})
    if (contains(form.body, inexact)) return false;
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

// Returns instructions that replace NaNs of a register by one NaN.
std::string one_nan(const std::string &name, std::string_view kind) {
  if (kind == "f64")
    return "{.reg .pred n; testp.notanumber.f64 n, " + name + "; @n mov.b64 " + name + ", -1;}";
  const std::string mask_type = width_of_kind(kind) == 16 ? "u16" : "u32", w = decimal(width_of_kind(kind));
  return "{.reg .b" + w + " n; set.nan." + mask_type + "." + std::string{kind} + " n, " + name + ", " + name +
         "; or.b" + w + " " + name + ", " + name + ", n;}";
}

// The forms of programs, grouped by opcode.
struct Pool {
  using Groups = std::vector<std::vector<Form>>;
  Groups anywhere, together, comparisons;
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
      groups[group].push_back(std::move(form));
    }
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
    text = (random.one_in(2) ? "@" : "@!") + any_predicate(random) + " " + text;
  if (copies) text = "{" + scope + text + " mov.b" + w + " " + d + ", %ad;}";
  made.text = before + text;
  if (nan_varies(form)) made.text += " " + one_nan(d, form.result);
  made.writes.push_back({d, form.result});
  return made;
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
  made.writes = {{p, "p"}};
  if (pair && p != q) made.writes.push_back({q, "p"});
  return made;
}

Statement divide(Random &random) {
  static constexpr std::string_view types[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
  const std::string type{random.pick(types)}, w = type.substr(1), kind = "i" + w;
  const std::string d = any_register(kind, random);
  const std::uint64_t positive = w == "16" ? 0x7fff : w == "32" ? 0x7fffffff : 0x7fffffffffffffff;
  return {"{.reg .b" + w + " n; or.b" + w + " n, " + any_register(kind, random) + ", 1; and.b" + w +
              " n, n, " + decimal(positive) + "; " + (random.one_in(2) ? "div." : "rem.") + type + " " + d +
              ", " + any_register(kind, random) + ", n;}",
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
  return {"selp.b" + w + " " + d + ", " + a + ", " + any_register(random.pick(same), random) + ", " +
              any_predicate(random) + ";",
          {{d, std::string{to.kind}}}};
}

Statement predicate_logic(Random &random) {
  static constexpr std::string_view operations[] = {"and", "or", "xor"};
  const std::string d = any_predicate(random);
  if (random.one_in(4)) return {"not.pred " + d + ", " + any_predicate(random) + ";", {{d, "p"}}};
  return {std::string{random.pick(operations)} + ".pred " + d + ", " + any_predicate(random) + ", " +
              any_predicate(random) + ";",
          {{d, "p"}}};
}

Statement table_load(Random &random) {
  static constexpr std::string_view kinds_read[] = {"i32", "f32", "i64", "f64", "i16", "bf16"};
  const std::string kind{random.pick(kinds_read)}, d = any_register(kind, random),
                                                   w = decimal(width_of_kind(kind));
  const std::string index = "{.reg .b32 n; .reg .b64 m; and.b32 n, " + any_register("i32", random) + ", 63; ";
  switch (random.below(3)) {
    case 0:
      return {index + "mov.u64 m, numbers; mad.wide.u32 m, n, 8, m; ld.const.b" + w + " " + d + ", [m];}",
              {{d, kind}}};
    case 1:
      return {index + "mad.wide.u32 m, n, 8, %in; ld.global.nc.b" + w + " " + d + ", [m];}", {{d, kind}}};
    default: {
      const std::string second = any_register("i64", random), first = any_register("f64", random);
      return {index + "and.b32 n, n, 62; mad.wide.u32 m, n, 8, %in; ld.global.v2.b64 {" + first + ", " +
                  second + "}, [m];}",
              {{first, "f64"}, {second, "i64"}}};
    }
  }
}

}  // namespace

std::string any_register(std::string_view kind, Random &random) {
  if (kind == "n32" || kind == "i16x2" || kind == "b5" || kind == "s5") kind = "i32";
  const auto *const found = std::find_if(std::begin(register_classes), std::end(register_classes),
                                         [&](const auto &one) { return one.kind == kind; });
  return "%" + std::string{found->prefix} + decimal(random.below(found->count));
}

std::string any_predicate(Random &random) { return "%p" + decimal(random.below(predicates)); }

Statement any_statement(Random &random) {
  switch (random.below(16)) {
    case 0:
    case 1:
      return compare(random);
    case 2:
      return divide(random);
    case 3:
      return move(random);
    case 4:
      return predicate_logic(random);
    case 5:
      return table_load(random);
    default:
      return applied(any_form(pool().anywhere, random), random, true);
  }
}

namespace {

Statement exchange(Random &random) {
  const std::string d = any_register("i32", random), a = any_register("i32", random);
  return {
      "{.reg .b32 n; .reg .b64 m; mov.u64 m, exchanged; mov.u32 n, %tid.x; mad.wide.u32 m, n, 8, m; "
      "st.shared.b32 [m], " +
          a + "; bar.sync 0; xor.b32 n, n, " + decimal(random.below(64)) +
          "; mov.u64 m, exchanged; mad.wide.u32 m, n, 8, m; ld.shared.b32 " + d + ", [m]; bar.sync 0;}",
      {{d, "i32"}}};
}

Statement block_reduction(Random &random) {
  const std::string d = any_register("i32", random), p = any_predicate(random), q = any_predicate(random);
  switch (random.below(3)) {
    case 0:
      return {"barrier.red.popc.u32 " + d + ", 1, " + p + ";", {{d, "i32"}}};
    case 1:
      return {
          std::string("barrier.red.") + (random.one_in(2) ? "and" : "or") + ".pred " + p + ", 2, !" + q + ";",
          {{p, "p"}}};
    default:
      break;
  }
  static constexpr std::string_view operations[] = {"add.u32", "min.u32", "max.u32", "min.s32",
                                                    "max.s32", "and.b32", "or.b32",  "xor.b32",
                                                    "add.u64", "min.s64", "max.u64", "xor.b64"};
  const std::string_view operation = random.pick(operations);
  const std::string w = contains(operation, "64") ? "64" : "32", kind = "i" + w,
                    to = any_register(kind, random);
  const bool global = random.one_in(2);
  const std::string space = global ? ".global" : ".shared";
  return {"{.reg .pred z; .reg .b64 m; .reg .b32 n; " +
              std::string(global ? "mov.u32 n, %ctaid.x; mad.wide.u32 m, n, 8, %sums; "
                                 : "mov.u64 m, exchanged; ") +
              "mov.u32 n, %tid.x; setp.eq.u32 z, n, 0; @z st" + space + ".b" + w + " [m], " +
              (random.one_in(2) ? "0" : "-1") + "; bar.sync 0; red" + space + "." + std::string{operation} +
              " [m], " + any_register(kind, random) + "; bar.sync 0; ld" + (global ? ".relaxed.gpu" : "") +
              space + ".b" + w + " " + to + ", [m]; bar.sync 0;}",
          {{to, kind}}};
}

Statement matrix_move(Random &random) {
  const std::size_t count = std::size_t{1} << random.below(3);
  const std::string list[] = {"{%r0}", "{%r1, %x2}", "{%r3, %x0, %y1, %r4}"}, size[] = {"x1", "x2", "x4"};
  const std::size_t at = count == 4 ? 2 : count - 1;
  const std::string form = size[at] + (random.one_in(2) ? ".trans" : "") + ".shared.b16 ";
  std::vector<Statement::Written> writes{{count == 1 ? "%r0" : count == 2 ? "%r1" : "%r3", "i32"}};
  if (count == 2) writes.push_back({"%x2", "f16x2"});
  if (count == 4) writes.insert(writes.end(), {{"%x0", "f16x2"}, {"%y1", "bf16x2"}, {"%r4", "i32"}});
  const std::string address =
      "{.reg .b64 m; .reg .b32 n; mov.u64 m, scratch; mov.u32 n, %tid.x; mad.wide.u32 m, n, 16, m; ";
  if (random.one_in(2))
    return {address + "st.shared.v2.b64 [m], {" + any_register("i64", random) + ", " +
                any_register("i64", random) + "}; bar.warp.sync -1; ldmatrix.sync.aligned.m8n8." + form +
                list[at] + ", [m]; bar.warp.sync -1;}",
            writes};
  const std::string d = any_register("i64", random);
  return {address + "st.shared.v2.b64 [m], {0, 0}; bar.warp.sync -1; stmatrix.sync.aligned.m8n8." + form +
              "[m], " + list[at] + "; bar.warp.sync -1; ld.shared.b64 " + d + ", [m+8];}",
          {{d, "i64"}}};
}

Statement matrix_product(Random &random) {
  static constexpr struct {
    std::string_view name, kind, a, b, c;
  } products[] = {{"m16n8k16.row.col.f32.f16.f16.f32", "f32", "x0 x1 x2 x3", "x4 x5", "f0 f1 f2 f3"},
                  {"m16n8k8.row.col.f32.f16.f16.f32", "f32", "x1 x3", "x5", "f4 f5 f6 f7"},
                  {"m16n8k16.row.col.f16.f16.f16.f16", "f16x2", "x0 x1 x2 x3", "x4 x5", "x2 x0"},
                  {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", "y0 y1 y2 y3", "y1 y3", "f2 f3 f4 f5"},
                  {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", "r0 r1 r2 r3", "r4 r5", "f0 f2 f4 f6"},
                  {"m16n8k32.row.col.f32.e4m3.e4m3.f32", "f32", "r0 r1 r2 r3", "r4 r5", "f1 f3 f5 f7"},
                  {"m16n8k32.row.col.satfinite.s32.s8.u8.s32", "i32", "r0 r1 r2 r3", "r4 r5", "r6 r7 r8 r9"},
                  {"m16n8k32.row.col.s32.u8.s8.s32", "i32", "r9 r8 r7 r6", "r4 r5", "r0 r1 r2 r3"},
                  {"m8n8k4.row.col.f64.f64.f64.f64", "f64", "v0", "v1", "v2 v3"}};
  const auto &chosen = random.pick(products);
  const auto list = [](std::string_view names) {
    std::string text = "{%";
    for (const char one : names) one == ' ' ? text += ", %" : text += one;
    return text + "}";
  };
  Statement made{"mma.sync.aligned." + std::string{chosen.name} + " " + list(chosen.c) + ", " +
                     list(chosen.a) + ", " + list(chosen.b) + ", " + list(chosen.c) + ";",
                 {}};
  for (std::size_t i = 0; i < chosen.c.size(); i += 3) {
    const std::string name = "%" + std::string{chosen.c.substr(i, 2)};
    if (is_float(chosen.kind)) made.text += " " + one_nan(name, chosen.kind);
    made.writes.push_back({name, std::string{chosen.kind}});
  }
  return made;
}

}  // namespace

Statement collective_statement(Random &random) {
  switch (random.below(8)) {
    case 0:
      return exchange(random);
    case 1:
    case 2:
      return block_reduction(random);
    case 3:
      return matrix_move(random);
    case 4:
      return matrix_product(random);
    default:
      return applied(any_form(pool().together, random), random, false);
  }
}

}  // namespace cushim::ptx::random
