// SPDX-License-Identifier: Apache-2.0
#include "hand_forms.hpp"

namespace cushim::ptx::random {
namespace {

// Begins a block in which p is the address of 16 bytes of the thread, in this space.
std::string begin(const std::string &space) {
  if (space == "local") return "{.local .align 16 .b8 m[16]; .reg .b64 p; mov.u64 p, m; ";
  if (space == "shared")
    return "{.reg .b64 p; .reg .u32 t; mov.u32 t, %tid.x; mov.u64 p, scratch; mad.wide.u32 p, t, 16, p; ";
  return "{.reg .b64 p; mov.b64 p, %own; ";
}

std::string space_of(const std::string &space) { return space.empty() ? "" : "." + space; }

unsigned width_of_type(const std::string &type) {
  return static_cast<unsigned>(std::stoi(type.substr(type.find_first_of("123468"))));
}

void add_atomics(std::vector<Form> &to, const std::string &space, const std::string &order) {
  const auto add = [&](const std::string &type, const std::string &name, const std::string &kind,
                       bool compares) {
    const std::string b = ".b" + std::to_string(width_of_kind(kind)),
                      before = begin(space) + "st" + space_of(space) + b + " [p], %a; ";
    const std::vector<std::string> inputs(compares ? 3 : 2, kind);
    // The sum of old and new value, and the new value.
    const std::string after = " ld" + space_of(space) + b + " %d, [p];";
    to.push_back({before + "atom" + order + space_of(space) + name + "." + type + " %d, [p], %b" +
                      (compares ? ", %c;" : ";") + "}",
                  inputs, kind});
    to.push_back({before + "atom" + order + space_of(space) + name + "." + type + " %d, [p], %b" +
                      (compares ? ", %c;" : ";") + after + "}",
                  inputs, kind});
    if (!compares && name != ".exch" && order != ".acq_rel.gpu")
      to.push_back({before + "red" + order + space_of(space) + name + "." + type + " [p], %b;" + after + "}",
                    inputs, kind});
  };
  for (const char *const type : {"u32", "s32", "u64", "s64"})
    for (const char *const name : {".min", ".max"}) add(type, name, std::string("i") + (type + 1), false);
  for (const char *const type : {"u32", "s32", "u64"})
    add(type, ".add", std::string("i") + (type + 1), false);
  for (const char *const name : {".inc", ".dec"}) add("u32", name, "i32", false);
  for (const char *const type : {"b32", "b64"})
    for (const char *const name : {".and", ".or", ".xor", ".exch"})
      add(type, name, std::string("i") + (type + 1), false);
  for (const char *const type : {"b16", "b32", "b64"}) add(type, ".cas", std::string("i") + (type + 1), true);
  for (const char *const type : {"f32", "f64"}) add(type, ".add", type, false);
  for (const char *const type : {"f16", "bf16", "f16x2", "bf16x2"}) add(type, ".add.noftz", type, false);
}

}  // namespace

void add_memory_forms(std::vector<Form> &to) {
  const char *const types[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                               "u32", "s32", "f32", "b64", "u64", "s64", "f64"};
  for (const std::string space : {"global", "shared", "local", ""}) {
    for (const std::string type : types) {
      const bool is_float = type[0] == 'f';
      for (const unsigned width : {16u, 32u, 64u}) {
        if (width < width_of_type(type) || (is_float && width != width_of_type(type))) continue;
        const std::string reg = std::to_string(width);
        // A load into a wider register, and a store of the lower part of one.
        to.push_back({begin(space) + "st" + space_of(space) + ".b64 [p], %a; ld" + space_of(space) + "." +
                          type + " %d, [p+" + std::to_string(8 - width_of_type(type) / 8) + "];}",
                      {"i64"},
                      "i" + reg});
        to.push_back({begin(space) + "st" + space_of(space) + ".b64 [p], %b; st" + space_of(space) + "." +
                          type + " [p+" + std::to_string(8 - width_of_type(type) / 8) + "], %a; ld" +
                          space_of(space) + ".b64 %d, [p];}",
                      {"i" + reg, "i64"},
                      "i64"});
      }
      for (const unsigned count : {2u, 4u}) {
        if (width_of_type(type) * count > 128) continue;
        const std::string reg = ".b" + std::to_string(std::max(16u, width_of_type(type)));
        const std::string list = count == 2 ? "{x, y}" : "{x, y, z, w}",
                          v = ".v" + std::to_string(count) + ".";
        to.push_back({begin(space) + ".reg " + reg + " x, y, z, w; st" + space_of(space) +
                          ".v2.b64 [p], {%a, %b}; ld" + space_of(space) + v + type + " " + list +
                          ", [p]; st" + space_of(space) + v + type + " [p], " +
                          (count == 2 ? "{y, x}" : "{w, z, y, x}") + "; ld" + space_of(space) +
                          ".v2.b64 {%d, %e}, [p]; xor.b64 %d, %d, %e;}",
                      {"i64", "i64", "i64", "i64"},
                      "i64"});
      }
    }
  }
  for (const std::string space : {"global", "shared", ""}) add_atomics(to, space, "");
  add_atomics(to, "global", ".acq_rel.gpu");
  add_atomics(to, "shared", ".relaxed.cta");
  for (const std::string type : {"f16", "f16x2", "bf16", "bf16x2", "f32"})
    for (const std::string name : {"add", "min", "max"})
      for (const unsigned count : {2u, 4u}) {
        const bool is_f32 = type == "f32";
        if ((is_f32 && name != "add") || width_of_kind(type) * count > 64) continue;
        const std::string list = count == 2 ? "{%c, %e}" : "{%c, %e, %a, %b}",
                          x = count == 2 ? "{x, y}" : "{x, y, z, w}",
                          in = count == 2 ? "{%a, %b}" : "{%a, %b, %c, %e}",
                          w = std::to_string(width_of_kind(type)), v = ".v" + std::to_string(count) + ".",
                          tail = is_f32 ? "" : ".noftz";
        const std::string before =
            begin("global") + ".reg .b" + w + " x, y, z, w; st.global" + v + "b" + w + " [p], " + in + "; ";
        const std::string all = " ld.global.b" + std::to_string(width_of_kind(type) * count) + " %d, [p];}";
        to.push_back(
            {before + "atom.global" + v + type + "." + name + tail + " " + x + ", [p], " + list + ";" + all,
             {type, type, type, type},
             "i" + std::to_string(width_of_kind(type) * count)});
        to.push_back({before + "atom.global" + v + type + "." + name + tail + " " + x + ", [p], " + list +
                          "; st.global" + v + "b" + w + " [p], " + x + ";" + all,
                      {type, type, type, type},
                      "i" + std::to_string(width_of_kind(type) * count)});
        to.push_back({before + "red.global" + v + type + "." + name + tail + " [p], " + list + ";" + all,
                      {type, type, type, type},
                      "i" + std::to_string(width_of_kind(type) * count)});
      }
}

}  // namespace cushim::ptx::random
