// SPDX-License-Identifier: Apache-2.0
#include "hand_forms.hpp"

namespace cushim::ptx::random {
namespace {

using Texts = std::vector<std::string>;

const Texts kInteger{"u32", "s32"};

// Returns all subsets of the digits 3 to 0, as selectors of SIMD video instructions.
Texts masks(char kind, unsigned parts) {
  Texts all{""};
  for (unsigned mask = 1; mask < 1u << parts; ++mask) {
    std::string text{'.', kind};
    for (unsigned i = parts; i-- != 0;)
      if ((mask >> i & 1) != 0) text += static_cast<char>('0' + i);
    all.push_back(text);
  }
  return all;
}

std::string simd_selector(Random &random, char kind, unsigned parts) {
  if (random.one_in(3)) return "";
  std::string text{'.', kind};
  for (unsigned i = 0; i < parts; ++i) text += static_cast<char>('0' + random.below(2 * parts));
  return text == ".b1024" ? ".b1023" : text;  // which ptxas reads as a type
}

void add_scalar_video(std::vector<Form> &to, Random &random, const std::string &name,
                      const std::string &types, const std::string &modifiers) {
  static const Texts selectors{"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
  const auto operands = [&] {
    const std::string b = random.pick(selectors), a = random.pick(selectors);
    return ", %a" + a + ", %b" + b;
  };
  const auto add = [&](const std::string &second, const std::string &merge, bool has_c) {
    to.push_back({name + types + modifiers + second + " %d" + merge + operands() + (has_c ? ", %c;" : ";"),
                  has_c ? Texts{"i32", "i32", "i32"} : Texts{"i32", "i32"}, "i32"});
  };
  for (int i = 0; i < 3; ++i) add("", "", false);
  for (const char *const second : {".add", ".min", ".max"})
    for (int i = 0; i < 2; ++i) add(second, "", true);
  for (std::size_t i = 1; i < selectors.size(); ++i) add("", selectors[i], true);
}

}  // namespace

void add_video_forms(std::vector<Form> &to) {
  Random random(1);
  const Texts saturations{"", ".sat"};
  for (const auto &d : kInteger)
    for (const auto &a : kInteger)
      for (const auto &b : kInteger) {
        const std::string types = "." + d + "." + a + "." + b;
        for (const auto &sat : saturations) {
          for (const char *const name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
            add_scalar_video(to, random, name, types, sat);
          if (b == "u32")
            for (const char *const name : {"vshl", "vshr"})
              for (const char *const mode : {".wrap", ".clamp"})
                add_scalar_video(to, random, name, types, sat + mode);
        }
        for (const unsigned parts : {2u, 4u})
          for (const char *const name : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
            for (const char *const mode : {"", ".sat", ".add"})
              for (int i = 0; i < 4; ++i) {
                const char kind = parts == 2 ? 'h' : 'b';
                const std::string mask = i == 0 ? "" : random.pick(masks(kind, parts));
                const std::string x = i == 0 ? "" : simd_selector(random, kind, parts),
                                  y = i == 0 ? "" : simd_selector(random, kind, parts);
                to.push_back({name + std::to_string(parts) + types + mode + " %d" + mask + ", %a" + x +
                                  ", %b" + y + ", %c;",
                              {"i32", "i32", "i32"},
                              "i32"});
              }
      }
  for (const auto &a : kInteger)
    for (const auto &b : kInteger)
      for (const char *const compare : {".eq", ".ne", ".lt", ".le", ".gt", ".ge"}) {
        add_scalar_video(to, random, "vset", "." + a + "." + b, compare);
        for (const unsigned parts : {2u, 4u})
          for (const char *const mode : {"", ".add"})
            for (int i = 0; i < 3; ++i) {
              const char kind = parts == 2 ? 'h' : 'b';
              const std::string mask = i == 0 ? "" : random.pick(masks(kind, parts));
              const std::string x = i == 0 ? "" : simd_selector(random, kind, parts);
              to.push_back({"vset" + std::to_string(parts) + "." + a + "." + b + compare + mode + " %d" +
                                mask + ", %a" + x + ", %b, %c;",
                            {"i32", "i32", "i32"},
                            "i32"});
            }
      }
  static const Texts selectors{"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
  for (const auto &d : kInteger)
    for (const auto &a : kInteger)
      for (const auto &b : kInteger)
        for (const auto &sat : saturations)
          for (const char *const shift : {"", ".shr7", ".shr15"}) {
            const auto add = [&](const char *one, const char *na, const char *nb, const char *nc) {
              const std::string y = random.pick(selectors), x = random.pick(selectors);
              to.push_back({"vmad." + d + "." + a + "." + b + one + sat + shift + " %d, " + na + "%a" + x +
                                ", " + nb + "%b" + y + ", " + nc + "%c;",
                            {"i32", "i32", "i32"},
                            "i32"});
            };
            for (int i = 0; i < 2; ++i) add("", "", "", ""), add(".po", "", "", "");
            add("", "-", "", ""), add("", "", "-", ""), add("", "", "", "-"), add("", "-", "-", "");
          }
}

void add_move_forms(std::vector<Form> &to) {
  for (const char *const type : {"b16", "b32", "b64", "u32", "s64", "f32", "f64"})
    to.push_back({std::string("mov.") + type + " %d, %a;",
                  {std::string("i") + (type + 1)},
                  std::string("i") + (type + 1)});
  to.push_back({"mov.b32 %d, {%a, %b};", {"i16", "i16"}, "i32"});
  to.push_back({"mov.b64 %d, {%a, %b};", {"i32", "i32"}, "i64"});
  to.push_back({"mov.b64 %d, {%a, %b, %c, %e};", {"i16", "i16", "i16", "i16"}, "i64"});
  to.push_back({"{.reg .b16 x, y; mov.b32 {x, y}, %a; mov.b32 %d, {y, x};}", {"i32"}, "i32"});
  to.push_back({"{.reg .b32 x, y; mov.b64 {x, y}, %a; xor.b32 %d, x, y;}", {"i64"}, "i32"});
  to.push_back(
      {"{.reg .b16 x, y, z, w; mov.b64 {x, y, z, w}, %a; mov.b64 %d, {w, z, x, y};}", {"i64"}, "i64"});
  to.push_back({"{.reg .b32 x; mov.b64 {x, _}, %a; mov.b32 %d, x;}", {"i64"}, "i32"});
  to.push_back({"{.reg .b128 t; .reg .b64 x; mov.b128 t, {%a, %b}; mov.b128 {x, %d}, t; xor.b64 %d, %d, x;}",
                {"i64", "i64"},
                "i64"});
  for (const char *const one : {"tid.x",
                                "tid.y",
                                "ntid.x",
                                "ntid.z",
                                "ctaid.x",
                                "nctaid.x",
                                "laneid",
                                "lanemask_eq",
                                "lanemask_le",
                                "lanemask_lt",
                                "lanemask_ge",
                                "lanemask_gt",
                                "clusterid.x",
                                "nclusterid.x",
                                "cluster_ctaid.x",
                                "cluster_nctaid.x",
                                "cluster_ctarank",
                                "cluster_nctarank",
                                "dynamic_smem_size",
                                "aggr_smem_size"})
    to.push_back({std::string("mov.u32 %d, %") + one + "; add.u32 %d, %d, %a;", {"i32"}, "i32"});
  to.push_back({"{.reg .pred q; mov.pred q, %is_explicit_cluster; selp.u32 %d, 1, 0, q;}", {"i32"}, "i32"});
  for (const char *const mode : {"up", "down", "bfly", "idx"})
    for (const char *const mask : {"0", "0x1f", "0x1c1f", "0x1807", "0x001e", "0x0f0f", "%c"})
      to.push_back({std::string("{.reg .pred q; and.b32 %b, %b, 63; and.b32 %c, %c, 0x1f1f; "
                                "shfl.sync.") +
                        mode + ".b32 %d|q, %a, %b, " + mask + ", -1; @!q xor.b32 %d, %d, 0x5a5a5a5a;}",
                    {"i32", "n32", "i32"},
                    "i32"});
  for (const char *const mode : {"all", "any", "uni"})
    to.push_back(
        {std::string("{.reg .pred q; vote.sync.") + mode + ".pred q, !%pa, -1; selp.u32 %d, 1, 0, q;}",
         {"p"},
         "i32"});
  to.push_back({"vote.sync.ballot.b32 %d, !%pa, -1;", {"p"}, "i32"});
  for (const char *const type : {"b32", "b64"}) {
    const std::string t = type, in = std::string("i") + (type + 1);
    to.push_back({"and." + t + " %a, %a, 3; match.any.sync." + t + " %d, %a, -1;", {in}, "i32"});
    to.push_back({"{.reg .pred q; and." + t + " %a, %a, 1; match.all.sync." + t +
                      " %d|q, %a, -1; @q add.u32 %d, %d, 5;}",
                  {in},
                  "i32"});
  }
  for (const char *const type :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    to.push_back(
        {std::string("{.reg .b32 m; vote.sync.ballot.b32 m, %pb, -1; mov.u32 %d, 77; @%pb redux.sync.") +
             type + " %d, %a, m;}",
         {"i32", "p"},
         "i32"});
  to.push_back({"movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;", {"i32"}, "i32"});
}

}  // namespace cushim::ptx::random
