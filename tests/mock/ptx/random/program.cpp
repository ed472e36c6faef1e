// SPDX-License-Identifier: Apache-2.0
// Random programs: statements and structured control flow.
#include <algorithm>
#include <iterator>

#include "statements.hpp"

namespace cushim::ptx::random {
namespace {

constexpr std::size_t block_threads = 64;

std::string digits(std::uint64_t value) { return std::to_string(value); }

class Maker {
 public:
  Maker(std::uint64_t seed, bool traced)
      : random_(seed * 2 + 1), name_("p" + digits(seed)), traced_(traced) {}

  // Returns the functions that the kernel calls, and the kernel.
  std::string make() {
    for (std::size_t i = 0; i < functions_; ++i) function(i);
    text_ += ".visible .entry " + name_ + "(.param .u64 from, .param .u64 to) {\n";
    declare();
    text_ +=
        ".reg .b64 %in, %out, %own, %sums, %tr, %wide; .reg .u32 %thread, %c<64>;\n"
        "{.reg .u32 n; mov.u32 n, %ctaid.x; mov.u32 %thread, %tid.x; mad.lo.u32 %thread, n, " +
        digits(block_threads) + ", %thread;}\nld.param.u64 %in, [from]; mad.wide.u32 %in, %thread, " +
        digits(8 * program_inputs) + ", %in; ld.param.u64 %out, [to]; add.u64 %sums, %out, " +
        digits(scratch_at) +
        "; mad.wide.u32 %own, %thread, 16, %sums; add.u64 %own, %own, 64; add.u64 %tr, %sums, " +
        digits(trace_at - scratch_at) + "; mad.wide.u32 %tr, %thread, " + digits(16 * trace_length) +
        ", %tr; add.u64 %tr, %tr, 16; mad.wide.u32 %out, %thread, " + digits(8 * program_outputs) +
        ", %out;\n";
    load();
    left_ = 20 + random_.below(41);
    statements(0, left_);
    store();
    return text_ + "ret; }\n";
  }

  static constexpr std::size_t scratch_at = program_threads * program_outputs * 8,
                               trace_at = scratch_at + 64 + program_threads * 16;

 private:
  static constexpr std::size_t functions_ = 3;

  void declare() {
    for (const RegisterClass &one : register_classes)
      text_ += ".reg .b" + digits(width_of_kind(one.kind)) + " %" + std::string{one.prefix} + "<" +
               digits(one.count) + ">; ";
    text_ += ".reg .pred %p<" + digits(predicates) + ">; .reg .b32 %q<4>;\n";
  }

  // Reads all registers of the program from the thread's inputs.
  void load() {
    std::size_t word = 0;
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i)
        text_ += "ld.global.b" + digits(width_of_kind(one.kind)) + " %" + std::string{one.prefix} +
                 digits(i) + ", [%in+" + digits(8 * word++) + "];\n";
    for (std::size_t i = 0; i < predicates; ++i)
      text_ +=
          "{.reg .b32 n; bfe.u32 n, %r0, " + digits(3 * i) + ", 1; setp.ne.u32 %p" + digits(i) + ", n, 0;}\n";
  }

  void store_word(std::size_t word, const std::string &name, unsigned width) {
    text_ += width == 64 ? "mov.b64 %wide, " + name + "; "
                         : "cvt.u64.u" + digits(width) + " %wide, " + name + "; ";
    text_ += "st.global.b64 [%out+" + digits(8 * word) + "], %wide;\n";
  }
  void store() {
    std::size_t word = 0;
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i)
        store_word(word++, "%" + std::string{one.prefix} + digits(i), width_of_kind(one.kind));
    for (std::size_t i = 0; i < predicates; ++i) {
      text_ += "selp.u32 %q0, 1, 0, %p" + digits(i) + "; ";
      store_word(word++, "%q0", 32);
    }
    if (!traced_) return;
    text_ += "{.reg .b64 m; ld.param.u64 m, [to]; mad.wide.u32 m, %thread, " + digits(16 * trace_length) +
             ", m; sub.u64 %wide, %tr, m; sub.u64 %wide, %wide, " + digits(trace_at) + "; st.global.b64 [m+" +
             digits(trace_at) + "], %wide;}\n";
  }

  void leaf(const Statement &one) {
    text_ += one.text + "\n";
    ++position_;
    if (!traced_) return;
    for (const auto &[name, kind] : one.writes) {
      if (kind == "p")
        text_ += "selp.u32 %q3, 1, 0, " + name + "; cvt.u64.u32 %wide, %q3; ";
      else
        text_ += width_of_kind(kind) == 64
                     ? "mov.b64 %wide, " + name + "; "
                     : "cvt.u64.u" + digits(width_of_kind(kind)) + " %wide, " + name + "; ";
      text_ += "st.global.v2.b64 [%tr], {" + digits(position_) + ", %wide}; add.u64 %tr, %tr, 16;\n";
    }
  }

  std::string label() { return "L" + name_ + "_" + digits(labels_++); }

  // Adds `count` statements at this depth of control flow. At depth 0 all threads are together.
  void statements(unsigned depth, std::size_t count) {
    for (std::size_t i = 0; i < count && left_ > 0; ++i) {
      --left_;
      const std::size_t kind = random_.below(depth < 2 ? 24 : 18);
      if (kind < 16)
        leaf(any_statement(random_));
      else if (kind < 18)
        depth == 0 ? leaf(collective_statement(random_)) : leaf(any_statement(random_));
      else if (kind == 18)
        call();
      else if (kind == 19)
        indexed(depth);
      else if (kind < 22)
        choice(depth);
      else
        loop(depth);
    }
  }
  std::size_t some() { return 1 + random_.below(5); }

  void choice(unsigned depth) {
    const std::string otherwise = label(), end = label();
    const bool both = random_.one_in(2);
    text_ += "@" + std::string(random_.one_in(2) ? "!" : "") + any_predicate(random_) + " bra " +
             (both ? otherwise : end) + ";\n";
    statements(depth + 1, some());
    if (both) {
      text_ += "bra " + end + ";\n" + otherwise + ":\n";
      statements(depth + 1, some());
    }
    text_ += end + ":\n";
  }

  // A loop of up to four rounds, whose number may differ among threads, and which may end early.
  void loop(unsigned depth) {
    const std::string begin = label(), end = label(), count = "%c" + digits(counters_++),
                      left = "%c" + digits(counters_++);
    text_ += "mov.u32 " + left + ", 0;\n";
    if (random_.one_in(2))
      text_ += "mov.u32 " + count + ", " + digits(1 + random_.below(4)) + ";\n";
    else
      text_ += "and.b32 " + count + ", " + any_register("i32", random_) + ", 3; add.u32 " + count + ", " +
               count + ", 1;\n";
    text_ += begin + ":\n";
    statements(depth + 1, some());
    if (random_.one_in(3)) {
      text_ += "@" + any_predicate(random_) + " bra " + end + ";\n";
      statements(depth + 1, some());
    }
    text_ += "add.u32 " + left + ", " + left + ", 1;\n{.reg .pred z; setp.lt.u32 z, " + left + ", " + count +
             "; @z bra " + begin + ";}\n" + end + ":\n";
  }

  void indexed(unsigned depth) {
    const std::size_t cases = 2 + random_.below(3);
    const std::string end = label(), list = label(), index = "%c" + digits(counters_++);
    std::vector<std::string> targets;
    for (std::size_t i = 0; i < cases; ++i) targets.push_back(label());
    text_ += "rem.u32 " + index + ", " + any_register("i32", random_) + ", " + digits(cases) + ";\n" + list +
             ": .branchtargets ";
    for (std::size_t i = 0; i < cases; ++i) text_ += (i == 0 ? "" : ", ") + targets[i];
    text_ += ";\nbrx.idx " + index + ", " + list + ";\n";
    for (const std::string &one : targets) {
      text_ += one + ":\n";
      statements(depth + 1, 1 + random_.below(3));
      text_ += "bra " + end + ";\n";
    }
    text_ += end + ":\n";
  }

  // The functions take and return values of these kinds.
  static constexpr std::string_view function_kinds[functions_][3] = {
      {"i32", "i32", "i32"}, {"f32", "f32", "i32"}, {"i64", "i64", "f64"}};

  void function(std::size_t index) {
    const auto &[to, first, second] = function_kinds[index];
    const auto width = [](std::string_view kind) { return ".b" + digits(width_of_kind(kind)); };
    text_ += ".func (.param " + width(to) + " r) " + name_ + "f" + digits(index) + "(.param " + width(first) +
             " a, .param " + width(second) + " b) {\n";
    declare();
    const std::string x = any_register(first, random_), y = any_register(second, random_),
                      z = any_register(to, random_);
    std::string body =
        "ld.param" + width(first) + " " + x + ", [a]; ld.param" + width(second) + " " + y + ", [b];\n";
    for (std::size_t i = 0; i < predicates; ++i)
      body += "{.reg .b32 n; cvt.u32.u" + width(first).substr(2) + " n, " + x + "; bfe.u32 n, n, " +
              digits(2 * i) + ", 1; setp.ne.u32 %p" + digits(i) + ", n, 0;}\n";
    const std::string early = label();
    const std::size_t count = 2 + random_.below(5), stop = random_.below(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i == stop) body += "@" + any_predicate(random_) + " bra " + early + ";\n";
      Statement one = any_statement(random_);
      while (one.text.find("%own") != one.text.npos || one.text.find("%in") != one.text.npos)
        one = any_statement(random_);
      body += one.text + "\n";
    }
    body += early + ":\nst.param" + width(to) + " [r], " + z + "; ret;\n}\n";
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i) {
        const std::string name = "%" + std::string{one.prefix} + digits(i);
        if (body.find(name) != body.npos)
          text_ += "mov.b" + digits(width_of_kind(one.kind)) + " " + name + ", " +
                   digits(draw(one.kind, random_) >> 1) + ";\n";
      }
    text_ += body;
  }

  void call() {
    const std::size_t index = random_.below(functions_);
    const auto &[to, first, second] = function_kinds[index];
    const auto width = [](std::string_view kind) { return ".b" + digits(width_of_kind(kind)); };
    const std::string d = any_register(to, random_), name = name_ + "f" + digits(index);
    std::string text = "{.param " + width(to) + " r; .param " + width(first) + " a; .param " + width(second) +
                       " b; st.param" + width(first) + " [a], " + any_register(first, random_) +
                       "; st.param" + width(second) + " [b], " + any_register(second, random_) + "; ";
    if (random_.one_in(3)) {
      const std::string prototype = label();
      text += prototype + ": .callprototype (.param " + width(to) + " _) _ (.param " + width(first) +
              " _, .param " + width(second) + " _); .reg .b64 m; mov.u64 m, " + name +
              "; call (r), m, (a, b), " + prototype + "; ";
    } else {
      text += "call (r), " + name + ", (a, b); ";
    }
    leaf({text + "ld.param" + width(to) + " " + d + ", [r];}", {{d, std::string{to}}}});
  }

  Random random_;
  std::string name_, text_;
  bool traced_;
  std::size_t position_ = 0, labels_ = 0, counters_ = 0, left_ = 0;
};

std::string module_header() {
  std::string text{header};
  Random random(5);
  text += ".const .align 16 .b64 numbers[64] = {";
  for (std::size_t i = 0; i < 64; ++i)
    text += (i == 0 ? "" : ", ") + digits(draw(i % 2 == 0 ? "f64" : i % 4 == 1 ? "i64" : "f16x2", random));
  return text + "};\n.shared .align 16 .b8 scratch[" + digits(16 * block_threads) +
         "];\n.shared .align 16 .b8 exchanged[" + digits(8 * block_threads) + "];\n";
}

Kernel kernel(std::uint64_t seed, bool traced) {
  return {"p" + digits(seed),
          program_threads / block_threads,
          block_threads,
          1,
          program_threads * program_outputs * 8,
          Maker::trace_at + (traced ? program_threads * trace_length * 16 : 0)};
}

}  // namespace

std::vector<std::uint64_t> program_inputs_of(std::uint64_t seed) {
  Random random(seed * 2);
  std::vector<std::uint64_t> all;
  for (std::size_t thread = 0; thread < program_threads; ++thread) {
    std::size_t words = 0;
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i, ++words) all.push_back(draw(one.kind, random));
    for (; words < program_inputs; ++words) all.push_back(random.bits());
  }
  return all;
}

std::size_t trace_offset() { return Maker::trace_at; }

Batch program(std::uint64_t seed, bool traced) {
  return {module_header() + Maker(seed, traced).make(), {kernel(seed, traced)}};
}

Batch programs(std::uint64_t first, std::size_t count) {
  Batch made{module_header(), {}};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    made.text += Maker(seed, false).make();
    made.kernels.push_back(kernel(seed, false));
  }
  return made;
}

}  // namespace cushim::ptx::random
