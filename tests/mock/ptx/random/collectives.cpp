// SPDX-License-Identifier: Apache-2.0
// Statements that the threads of a warp or a block execute together.
#include "statements.hpp"

namespace cushim::ptx::random {
namespace {

Statement exchange(Random &random) {
  const std::string d = any_register("i32", random), a = any_register("i32", random);
  return {
      joined({("{.reg .b32 n; .reg .b64 m; mov.u64 m, exchanged; mov.u32 n, %tid.x; mad.wide.u32 m, n, 8, m; "
               "st.shared.b32 [m], "),
              a, "; bar.sync 0; xor.b32 n, n, ", decimal(random.below(64)),
              "; mov.u64 m, exchanged; mad.wide.u32 m, n, 8, m; ld.shared.b32 ", d, ", [m]; bar.sync 0;}"}),
      {{d, "i32"}}};
}

// Returns the head of a reduction to [m] in global or shared memory, of which thread 0 sets `width` bits.
std::string reduction_begin(bool global, std::string_view width, std::string_view initial) {
  return joined({"{.reg .pred z; .reg .b64 m; .reg .b32 n; ",
                 global ? "mov.u32 n, %ctaid.x; mad.wide.u32 m, n, 8, %sums; " : "mov.u64 m, exchanged; ",
                 "mov.u32 n, %tid.x; setp.eq.u32 z, n, 0; @z st.", global ? "global" : "shared", ".b", width,
                 " [m], ", initial, "; bar.sync 0; "});
}
std::string reduction_end(bool global, std::string_view width, const std::string &to) {
  return joined({" bar.sync 0; ld", global ? ".relaxed.gpu.global" : ".shared", ".b", width, " ", to,
                 ", [m]; bar.sync 0;}"});
}

Statement integer_reduction(Random &random) {
  static constexpr std::string_view operations[] = {"add.u32", "min.u32", "max.u32", "min.s32",
                                                    "max.s32", "and.b32", "or.b32",  "xor.b32",
                                                    "add.u64", "min.s64", "max.u64", "xor.b64"};
  const std::string_view operation = random.pick(operations);
  const std::string w = contains(operation, "64") ? "64" : "32", kind = "i" + w,
                    to = any_register(kind, random);
  const bool global = random.one_in(2);
  return {
      joined({reduction_begin(global, w, random.one_in(2) ? "0" : "-1"), "red.", global ? "global" : "shared",
              ".", operation, " [m], ", any_register(kind, random), ";", reduction_end(global, w, to)}),
      {{to, kind}}};
}

// Adds small integers, whose sum in any order is exact.
Statement exact_sum(Random &random) {
  struct Sum {
    std::string_view kind, operation, convert;
  };
  static constexpr Sum sums[] = {
      {"f32", "add.f32", "and.b32 n, n, 255; cvt.rn.f32.u32 v, n; "},
      {"f64", "add.f64", "cvt.rn.f64.s32 v, n; "},
      {"f16", "add.noftz.f16", "and.b32 n, n, 7; cvt.rn.f16.u32 v, n; "},
      {"bf16", "add.noftz.bf16", "and.b32 n, n, 3; cvt.rn.bf16.u32 v, n; "},
      {"f16x2", "add.noftz.f16x2",
       "{.reg .b16 x, y; mov.b32 {x, y}, n; and.b16 x, x, 7; and.b16 y, y, 7; cvt.rn.f16.u16 x, x; "
       "cvt.rn.f16.u16 y, y; mov.b32 v, {x, y};} "},
      {"bf16x2", "add.noftz.bf16x2",
       "{.reg .b16 x, y; mov.b32 {x, y}, n; and.b16 x, x, 3; and.b16 y, y, 3; cvt.rn.bf16.u16 x, x; "
       "cvt.rn.bf16.u16 y, y; mov.b32 v, {x, y};} "}};
  const auto &chosen = random.pick(sums);
  const std::string kind{chosen.kind}, w = decimal(width_of_kind(kind)), to = any_register(kind, random);
  const bool global = kind[0] != 'f' || kind.size() > 3 || random.one_in(2);
  return {joined({reduction_begin(global, w, "0"), ".reg .b", w, " v; mov.b32 n, ",
                  any_register("i32", random), "; ", chosen.convert, "red.", global ? "global" : "shared",
                  ".", chosen.operation, " [m], v;", reduction_end(global, w, to)}),
          {{to, kind}}};
}

// Combines values by a loop of compare-and-swap.
Statement swapped_sum(Random &random) {
  static constexpr std::string_view operations[] = {"xor.b", "add.u", "max.s", "min.u", "or.b"};
  const std::string w = random.one_in(2) ? "32" : "64", kind = "i" + w, to = any_register(kind, random);
  const bool global = random.one_in(2);
  const std::string space = global ? ".global" : ".shared", name = decimal(random.bits() >> 32);
  return {joined({reduction_begin(global, w, "5"),
                  ".reg .b",
                  w,
                  " o, k, v; mov.b",
                  w,
                  " o, 5; A",
                  name,
                  ": mov.b",
                  w,
                  " k, o; ",
                  random.pick(operations),
                  w,
                  " v, k, ",
                  any_register(kind, random),
                  "; atom",
                  space,
                  ".cas.b",
                  w,
                  " o, [m], k, v; setp.ne.u",
                  w,
                  " z, o, k; @z bra A",
                  name,
                  ";",
                  reduction_end(global, w, to)}),
          {{to, kind}}};
}

// Wraps a counter that all threads increment.
Statement counter(Random &random) {
  const std::string to = any_register("i32", random);
  const bool global = random.one_in(2);
  return {joined({reduction_begin(global, "32", decimal(random.below(64))), "atom",
                  global ? ".global" : ".shared", random.one_in(2) ? ".inc" : ".dec", ".u32 n, [m], ",
                  decimal(1 + random.below(40)), ";", reduction_end(global, "32", to)}),
          {{to, "i32"}}};
}

Statement barrier_reduction(Random &random) {
  const std::string d = any_register("i32", random), p = any_predicate(random), q = any_predicate(random);
  if (random.one_in(2)) return {"barrier.red.popc.u32 " + d + ", 1, " + p + ";", {{d, "i32"}}};
  return {joined({"barrier.red.", random.one_in(2) ? "and" : "or", ".pred ", p, ", 2, !", q, ";"}),
          {{p, "p"}}};
}

Statement block_reduction(Random &random) {
  return one_of(
      random,
      {{1, barrier_reduction}, {1, exact_sum}, {1, swapped_sum}, {1, counter}, {2, integer_reduction}});
}

// Executes an instruction in the lanes of a mask. The lanes that they read are in the mask.
Statement in_some_lanes(Random &random) {
  const std::string d = any_register("i32", random), a = any_register("i32", random);
  std::uint64_t mask = 0, clamp = 0x1f;
  std::string mode, source;
  switch (random.below(3)) {
    case 0: {  // pairs of lanes
      const std::uint64_t distance = 1 + random.below(31), any = random.bits() | 1;
      for (std::uint64_t lane = 0; lane < 32; ++lane)
        if ((any >> (lane < (lane ^ distance) ? lane : lane ^ distance) & 1) != 0)
          mask |= std::uint64_t{1} << lane;
      mode = "bfly", source = decimal(distance);
      break;
    }
    case 1: {
      const std::uint64_t lane = random.below(32);
      mask = (random.bits() & 0xffffffff) | std::uint64_t{1} << lane;
      mode = "idx", source = decimal(lane);
      break;
    }
    default: {  // segments of 8 lanes
      static constexpr std::string_view modes[] = {"up", "down", "bfly", "idx"};
      const std::uint64_t segments = 1 + random.below(15);
      for (std::uint64_t i = 0; i < 4; ++i) mask |= (segments >> i & 1) * 0xff << 8 * i;
      mode = random.pick(modes), source = "k";
      clamp = mode == "up" ? 0x1800 : 0x181f;
    }
  }
  return {joined({"{.reg .pred q, w; .reg .b32 n, k; and.b32 k, ",
                  any_register("i32", random),
                  ", 7; mov.u32 n, %laneid; shr.u32 n, ",
                  decimal(mask),
                  (", n; and.b32 n, n, 1; setp.ne.u32 q, n, "
                   "0; @q shfl.sync."),
                  mode,
                  ".b32 ",
                  d,
                  "|w, ",
                  a,
                  ", ",
                  source,
                  ", ",
                  decimal(clamp),
                  ", ",
                  decimal(mask),
                  "; @q selp.b32 n, 1, 2, w; @q xor.b32 ",
                  d,
                  ", ",
                  d,
                  ", n;}"}),
          {{d, "i32"}}};
}

// Executes an instruction in the lanes whose predicate is true.
Statement in_voting_lanes(Random &random) {
  const std::string d = any_register("i32", random), a = any_register("i32", random),
                    p = any_predicate(random), q = any_predicate(random);
  std::string text = "{.reg .b32 k, n; vote.sync.ballot.b32 k, " + p + ", -1; @" + p + " ";
  switch (random.below(7)) {
    case 0:
      text += joined({"vote.sync.", random.one_in(2) ? "any" : "all", ".pred ", q, ", !", q, ", k;}"});
      return {text, {{q, "p"}}};
    case 1:
      text += "vote.sync.ballot.b32 " + d + ", " + q + ", k;}";
      break;
    case 2:
      text += "and.b32 n, " + a + ", 3; @" + p + " match.any.sync.b32 " + d + ", n, k;}";
      break;
    case 3:
      text += "shfl.sync.idx.b32 " + d + ", " + a + ", n, 0x1f, k;}";
      text.replace(text.find("@" + p), 0, "bfind.u32 n, k; ");
      break;
    case 4:
      text += "elect.sync " + d + "|" + p + ", k;}";
      return {text, {{d, "i32"}, {p, "p"}}};
    default: {
      static constexpr std::string_view operations[] = {"add.u32", "min.s32", "max.u32", "and.b32",
                                                        "xor.b32"};
      text += joined({"redux.sync.", random.pick(operations), " ", d, ", ", a, ", k;}"});
    }
  }
  return {text, {{d, "i32"}}};
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
    return {joined({address, "st.shared.v2.b64 [m], {", any_register("i64", random), ", ",
                    any_register("i64", random), "}; bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.", form,
                    list[at], ", [m]; bar.warp.sync -1;}"}),
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
                  {"m16n8k8.row.col.f16.f16.f16.f16", "f16x2", "x0 x1", "x2", "x4 x5"},
                  {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", "y0 y1 y2 y3", "y1 y3", "f2 f3 f4 f5"},
                  {"m16n8k8.row.col.f32.bf16.bf16.f32", "f32", "y2 y3", "y0", "f0 f7 f1 f6"},
                  {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", "r0 r1 r2 r3", "r4 r5", "f0 f2 f4 f6"},
                  {"m16n8k4.row.col.f32.tf32.tf32.f32", "f32", "r0 r1", "r4", "f0 f1 f2 f3"},
                  {"m16n8k32.row.col.f32.e4m3.e4m3.f32", "f32", "r0 r1 r2 r3", "r4 r5", "f1 f3 f5 f7"},
                  {"m16n8k32.row.col.f32.e5m2.e4m3.f32", "f32", "r1 r2 r3 r4", "r5 r6", "f0 f3 f4 f7"},
                  {"m16n8k32.row.col.satfinite.s32.s8.u8.s32", "i32", "r0 r1 r2 r3", "r4 r5", "r6 r7 r8 r9"},
                  {"m16n8k32.row.col.s32.u8.s8.s32", "i32", "r9 r8 r7 r6", "r4 r5", "r0 r1 r2 r3"},
                  {"m16n8k16.row.col.s32.s8.s8.s32", "i32", "r0 r1", "r2", "r6 r7 r8 r9"},
                  {"m8n8k16.row.col.s32.u8.u8.s32", "i32", "r0", "r1", "r2 r3"},
                  {"m16n8k64.row.col.s32.s4.u4.s32", "i32", "r0 r1 r2 r3", "r4 r5", "r6 r7 r8 r9"},
                  {"m8n8k4.row.col.f64.f64.f64.f64", "f64", "v0", "v1", "v2 v3"},
                  {"m16n8k4.row.col.f64.f64.f64.f64", "f64", "v0 v4", "v1", "v0 v1 v2 v3"}};
  const auto &chosen = random.pick(products);
  const auto list = [](std::string_view names) {
    std::string text = "{%";
    for (const char one : names) one == ' ' ? text += ", %" : text += one;
    return text + "}";
  };
  Statement made{joined({"mma.sync.aligned.", chosen.name, " ", list(chosen.c), ", ", list(chosen.a), ", ",
                         list(chosen.b), ", ", list(chosen.c), ";"}),
                 {}};
  for (std::size_t i = 0; i < chosen.c.size(); i += 3) {
    const std::string name = "%" + std::string{chosen.c.substr(i, 2)};
    if (is_float(chosen.kind)) made.text += " " + one_nan(name, chosen.kind);
    made.writes.push_back({name, std::string{chosen.kind}});
  }
  return made;
}

}  // namespace

Statement collective_statement(Random &random, bool in_cluster) {
  if (in_cluster && random.one_in(4)) return cluster_exchange(random);
  return one_of(random, {{1, exchange},
                         {3, block_reduction},
                         {1, matrix_move},
                         {2, matrix_product},
                         {1, in_some_lanes},
                         {1, in_voting_lanes},
                         {1, barrier_exchange},
                         {2, warp_statement}});
}

}  // namespace cushim::ptx::random
