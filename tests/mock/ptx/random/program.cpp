// SPDX-License-Identifier: Apache-2.0
// Random programs: statements and structured control flow.
#include <algorithm>
#include <iterator>

#include "statements.hpp"

namespace cushim::ptx::random {
namespace {

std::string digits(std::uint64_t value) { return decimal(value); }
std::string width_of(std::string_view kind) { return ".b" + digits(width_of_kind(kind)); }

class Maker {
 public:
  Maker(std::uint64_t seed, bool traced)
      : random_(seed * 2 + 1), name_("p" + digits(seed)), traced_(traced), in_cluster_(random_.one_in(4)) {}

  // Returns the functions that the kernel calls, and the kernel.
  std::string make() {
    for (std::size_t i = 0; i < functions_; ++i) function(i);
    recursive_function();
    text_ += ".visible .entry " + name_ + "(.param .u64 from, .param .u64 to) " +
             (in_cluster_ ? ".reqnctapercluster 2 {\n" : "{\n");
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

  void store_word(std::size_t word, const std::string &name, std::string_view type) {
    text_ += joined({"st.global", type, " [%out+", digits(8 * word), "], ", name, ";\n"});
  }
  void store() {
    std::size_t word = 0;
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i)
        store_word(word++, "%" + std::string{one.prefix} + digits(i), width_of(one.kind));
    for (std::size_t i = 0; i < predicates; ++i) {
      text_ += "selp.u32 %q0, 1, 0, %p" + digits(i) + "; ";
      store_word(word++, "%q0", ".b32");
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
      const bool is_predicate = kind == "p";
      if (is_predicate) text_ += "selp.u32 %q3, 1, 0, " + name + "; ";
      text_ += joined({"st.global.b64 [%tr], ", digits(position_), "; st.global",
                       is_predicate ? ".b32" : width_of(kind), " [%tr+8], ", is_predicate ? "%q3" : name,
                       "; add.u64 %tr, %tr, 16;\n"});
    }
  }

  std::string label() { return "L" + name_ + "_" + digits(labels_++); }

  // Adds `count` statements at this depth of control flow. At depth 0 all threads are together.
  void statements(unsigned depth, std::size_t count) {
    for (std::size_t i = 0; i < count && left_ > 0; ++i) {
      --left_;
      const std::size_t kind = random_.below(depth < 2 ? 24 : 18);
      if (kind < 14)
        leaf(any_statement(random_));
      else if (kind < 18)
        depth == 0 ? leaf(collective_statement(random_, in_cluster_)) : leaf(any_statement(random_));
      else if (kind == 18)
        random_.one_in(4) ? call_recursive() : call();
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
    text_ += joined(
        {"@", random_.one_in(2) ? "!" : "", any_predicate(random_), " bra ", both ? otherwise : end, ";\n"});
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

  // Begins the body of a function: reads its parameters and sets the predicates.
  std::string begin_function(std::string_view first, const std::string &x, std::string_view second,
                             const std::string &y) {
    std::string body = joined(
        {"ld.param", width_of(first), " ", x, ", [a]; ld.param", width_of(second), " ", y, ", [b];\n"});
    for (std::size_t i = 0; i < predicates; ++i)
      body += "{.reg .b32 n; cvt.u32.u" + width_of(first).substr(2) + " n, " + x + "; bfe.u32 n, n, " +
              digits(2 * i) + ", 1; setp.ne.u32 %p" + digits(i) + ", n, 0;}\n";
    return body;
  }

  Statement statement_of_function() {
    Statement one = any_statement(random_);
    while (contains(one.text, "%own") || contains(one.text, "%in")) one = any_statement(random_);
    return one;
  }

  // Ends a function. Its registers begin with values that the compiler does not know.
  void end_function(const std::string &body) {
    for (const RegisterClass &one : register_classes)
      for (std::size_t i = 0; i < one.count; ++i) {
        const std::string name = "%" + std::string{one.prefix} + digits(i);
        if (contains(body, name))
          text_ += joined({"ld.const", width_of(one.kind), " ", name, ", [numbers+",
                           digits(8 * random_.below(64)), "];\n"});
      }
    text_ += body + "}\n";
  }

  void function(std::size_t index) {
    const auto &[to, first, second] = function_kinds[index];
    text_ += joined({".func (.param ", width_of(to), " r) ", name_, "f", digits(index), "(.param ",
                     width_of(first), " a, .param ", width_of(second), " b) {\n"});
    declare();
    const std::string x = any_register(first, random_), y = any_register(second, random_),
                      z = any_register(to, random_);
    std::string body = begin_function(first, x, second, y);
    const std::string early = label();
    const std::size_t count = 2 + random_.below(5), stop = random_.below(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i == stop) body += "@" + any_predicate(random_) + " bra " + early + ";\n";
      body += statement_of_function().text + "\n";
    }
    end_function(body + early + ":\nst.param" + width_of(to) + " [r], " + z + "; ret;\n");
  }

  // A function that calls itself b times.
  void recursive_function() {
    text_ += ".func (.param .b32 r) " + name_ + "g(.param .b32 a, .param .b32 b) {\n.reg .b32 %left;\n";
    declare();
    const std::string x = any_register("i32", random_), z = any_register("i32", random_), end = label();
    std::string body = begin_function("i32", x, "i32", "%left");
    const std::size_t before = 1 + random_.below(2), after = random_.below(2);
    for (std::size_t i = 0; i < before; ++i) body += statement_of_function().text + "\n";
    body += "{.reg .pred z; setp.eq.u32 z, %left, 0; @z bra " + end + ";}\nsub.u32 %left, %left, 1;\n" +
            called(name_ + "g", {"i32", "i32", "i32"}, z, any_register("i32", random_), "%left") + "\n";
    for (std::size_t i = 0; i < after; ++i) body += statement_of_function().text + "\n";
    end_function(body + end + ":\nst.param.b32 [r], " + z + "; ret;\n");
  }

  // Returns a call of a function with results and arguments of these kinds.
  std::string called(const std::string &name, const std::string_view (&of)[3], const std::string &to,
                     const std::string &first, const std::string &second) {
    std::string text =
        joined({"{.param ", width_of(of[0]), " to; .param ", width_of(of[1]), " first; .param ",
                width_of(of[2]), " second; st.param", width_of(of[1]), " [first], ", first, "; st.param",
                width_of(of[2]), " [second], ", second, "; "});
    if (random_.one_in(3)) {
      const std::string prototype = label();
      text += joined({prototype, ": .callprototype (.param ", width_of(of[0]), " _) _ (.param ",
                      width_of(of[1]), " _, .param ", width_of(of[2]), " _); .reg .b64 m; mov.u64 m, ", name,
                      "; call (to), m, (first, second), ", prototype, "; "});
    } else {
      text += "call (to), " + name + ", (first, second); ";
    }
    return text + "ld.param" + width_of(of[0]) + " " + to + ", [to];}";
  }

  void call() {
    const std::size_t index = random_.below(functions_);
    const auto &of = function_kinds[index];
    const std::string to = any_register(of[0], random_), first = any_register(of[1], random_),
                      second = any_register(of[2], random_);
    leaf({called(name_ + "f" + digits(index), of, to, first, second), {{to, std::string{of[0]}}}});
  }

  void call_recursive() {
    const std::string to = any_register("i32", random_), first = any_register("i32", random_);
    leaf({joined({"{.reg .b32 c; rem.u32 c, ", any_register("i32", random_), ", 3; ",
                  called(name_ + "g", {"i32", "i32", "i32"}, to, first, "c"), "}"}),
          {{to, "i32"}}});
  }

  Random random_;
  std::string name_, text_;
  bool traced_, in_cluster_;
  std::size_t position_ = 0, labels_ = 0, counters_ = 0, left_ = 0;
};

std::string module_header() {
  std::string text{header};
  Random random(5);
  text += ".const .align 16 .b64 numbers[64] = {";
  for (std::size_t i = 0; i < 64; ++i)
    text += (i == 0 ? "" : ", ") + digits(draw(i % 2 == 0 ? "f64" : i % 4 == 1 ? "i64" : "f16x2", random));
  return text + "};\n.shared .align 16 .b8 scratch[" + digits(16 * block_threads) +
         "];\n.shared .align 16 .b8 exchanged[" + digits(8 * block_threads) +
         "];\n.shared .align 8 .b64 gate;\n";
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
