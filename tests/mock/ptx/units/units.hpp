// SPDX-License-Identifier: Apache-2.0
// The kernels whose results on the special function units and the tensor cores are recorded, and their
// inputs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::ptx::units {

// A generator of random numbers that needs no library (splitmix64).
inline std::uint64_t next(std::uint64_t &state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct ElementType {
  std::string_view name;
  int bits, exponent, mantissa;
};

inline ElementType element_type(std::string_view name) {
  static constexpr ElementType types[] = {{"f16", 16, 5, 10}, {"bf16", 16, 8, 7},  {"tf32", 32, 8, 23},
                                          {"f32", 32, 8, 23}, {"f64", 64, 11, 52}, {"e4m3", 8, 4, 3},
                                          {"e5m2", 8, 5, 2},  {"s8", 8, 0, 0},     {"s32", 32, 0, 0}};
  for (const ElementType &one : types)
    if (one.name == name) return one;
  return {};
}

// Appends random elements. Distributions: 0 near one, 1 wide exponents, 2 mostly zeros, 3 any bits in one of
// eight.
inline void fill(std::vector<std::uint8_t> &to, std::string_view type, std::size_t bytes, int distribution,
                 std::uint64_t &state, bool is_sum) {
  const ElementType t = element_type(type);
  const std::size_t begin = to.size(), size = static_cast<std::size_t>(t.bits) / 8;
  to.resize(begin + bytes);
  for (std::size_t at = begin; at < to.size(); at += size) {
    const std::uint64_t r = next(state);
    std::uint64_t value = next(state);
    if (t.exponent != 0 && !(distribution == 3 && r % 8 == 0)) {
      int e = (1 << (t.exponent - 1)) - 1;
      if (distribution == 0 || distribution == 3)
        e += static_cast<int>(r >> 8) % 3 - 1 + (is_sum ? static_cast<int>(r >> 20 & 3) : 0);
      else if (t.exponent <= 5)
        e += 2 - static_cast<int>((r >> 8) % (t.exponent == 4 ? 8 : 15));
      else
        e += 4 - static_cast<int>((r >> 8) % 28);
      const std::uint64_t mantissa = value & ((std::uint64_t{1} << t.mantissa) - 1), sign = value >> 63;
      value = sign << (t.bits - 1) | static_cast<std::uint64_t>(e < 0 ? 0 : e) << t.mantissa | mantissa;
      if (distribution == 2 && (r >> 32) % 8 < 6) value = 0;
    }
    std::memcpy(&to[at], &value, size);
  }
}

inline std::string number(std::size_t value) { return std::to_string(value); }

// Returns {a0, a1, ...}.
inline std::string registers(char name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text.append(i == 0 ? "" : ",").append(1, name).append(number(std::size_t(i)));
  return text + "}";
}

// A product of mma: the instruction, the types of a, b, c, and the number of registers of a, b, c, d.
struct Product {
  std::string_view name, shape_and_types, a, c;
  int registers_a, registers_b, registers_c, registers_d;
};

inline constexpr Product products[] = {
    {"f16.k16.f32", "m16n8k16.row.col.f32.f16.f16.f32", "f16", "f32", 4, 2, 4, 4},
    {"f16.k8.f32", "m16n8k8.row.col.f32.f16.f16.f32", "f16", "f32", 2, 1, 4, 4},
    {"f16.k16.f16", "m16n8k16.row.col.f16.f16.f16.f16", "f16", "f16", 4, 2, 2, 2},
    {"f16.k8.f16", "m16n8k8.row.col.f16.f16.f16.f16", "f16", "f16", 2, 1, 2, 2},
    {"bf16.k16.f32", "m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", "f32", 4, 2, 4, 4},
    {"bf16.k8.f32", "m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", "f32", 2, 1, 4, 4},
    {"tf32.k8.f32", "m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", "f32", 4, 2, 4, 4},
    {"tf32.k4.f32", "m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", "f32", 2, 1, 4, 4},
    {"e4m3.k32.f32", "m16n8k32.row.col.f32.e4m3.e4m3.f32", "e4m3", "f32", 4, 2, 4, 4},
    {"e5m2.k32.f32", "m16n8k32.row.col.f32.e5m2.e5m2.f32", "e5m2", "f32", 4, 2, 4, 4},
    {"e4m3.k32.f16", "m16n8k32.row.col.f16.e4m3.e4m3.f16", "e4m3", "f16", 4, 2, 2, 2},
    {"f64.k4", "m8n8k4.row.col.f64.f64.f64.f64", "f64", "f64", 1, 1, 2, 2},
    {"f64.k8", "m16n8k8.row.col.f64.f64.f64.f64", "f64", "f64", 4, 2, 4, 4},
    {"s8.k32", "m16n8k32.row.col.s32.s8.s8.s32", "s8", "s32", 4, 2, 4, 4},
};

// Products of each kind, one a block.
inline constexpr int cases = 16;

// Returns the bytes of all products in `registers` registers a lane.
inline std::size_t bytes(const Product &p, int registers) {
  const std::size_t size = p.a == "f64" ? 8 : 4;
  return cases * 32 * size * static_cast<std::size_t>(registers);
}

// The raw registers of the factors and the summand of all products of a kind.
struct Inputs {
  std::vector<std::uint8_t> a, b, c;
};
inline Inputs inputs(const Product &p) {
  Inputs all;
  std::uint64_t state = 99;
  for (int i = 0; i < cases; ++i) {
    fill(all.a, p.a, bytes(p, p.registers_a) / cases, i % 4, state, false);
    fill(all.b, p.a, bytes(p, p.registers_b) / cases, i % 4, state, false);
    fill(all.c, p.c, bytes(p, p.registers_c) / cases, i % 4, state, true);
  }
  return all;
}

// Returns the kernel that multiplies raw registers: lane i of block j reads from pa, pb, pc and writes to pd.
inline std::string text(const Product &p, std::string_view header) {
  const int size = p.a == "f64" ? 8 : 4;
  const std::string type = size == 8 ? ".b64 " : ".b32 ";
  std::string t{header};
  t += ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n"
       ".reg .b64 x, y; .reg .u32 l, c, g; mov.u32 l, %tid.x; mov.u32 c, %ctaid.x; mad.lo.u32 g, c, 32, l;\n";
  const auto each = [&](char name, int count, bool load) {
    t.append("ld.param.u64 x, [p")
        .append(1, name)
        .append("]; mul.wide.u32 y, g, ")
        .append(number(std::size_t(count) * std::size_t(size)));
    t += "; add.u64 x, x, y;\n";
    for (int i = 0; i < count; ++i) {
      const std::string one = std::string(1, name) + number(std::size_t(i)),
                        at = "[x+" + number(std::size_t(i) * std::size_t(size)) + "]";
      if (load)
        t.append("ld.global").append(type).append(one).append(", ").append(at).append(";\n");
      else
        t.append("st.global").append(type).append(at).append(", ").append(one).append(";\n");
    }
  };
  const struct {
    char name;
    int count;
  } all[] = {{'a', p.registers_a}, {'b', p.registers_b}, {'c', p.registers_c}, {'d', p.registers_d}};
  for (const auto &[name, count] : all)
    for (int i = 0; i < count; ++i)
      t.append(".reg ").append(type).append(1, name).append(number(std::size_t(i))).append(";\n");
  for (int i = 0; i < 3; ++i) each(all[i].name, all[i].count, true);
  t.append("mma.sync.aligned.").append(p.shape_and_types);
  for (const int i : {3, 0, 1, 2}) t.append(i == 3 ? " " : ", ").append(registers(all[i].name, all[i].count));
  t += ";\n";
  each('d', p.registers_d, false);
  return t + "ret; }\n";
}

// A fragment of wmma, loaded from a matrix whose elements are their index.
struct Fragment {
  std::string_view shape;
  int m, n, k;
  char matrix;
  std::string_view type;
  int bits, registers;
};

inline std::vector<Fragment> fragments() {
  std::vector<Fragment> all;
  const struct {
    std::string_view shape;
    int m, n, a8, b8, a16, b16;
  } shapes[] = {
      {"m16n16k16", 16, 16, 2, 2, 4, 4}, {"m32n8k16", 32, 8, 4, 1, 8, 2}, {"m8n32k16", 8, 32, 1, 4, 2, 8}};
  for (const auto &s : shapes) {
    for (const char matrix : {'a', 'b'}) {
      all.push_back({s.shape, s.m, s.n, 16, matrix, "f16", 16, 8});
      all.push_back({s.shape, s.m, s.n, 16, matrix, "bf16", 16, matrix == 'a' ? s.a16 : s.b16});
      all.push_back({s.shape, s.m, s.n, 16, matrix, "s8", 8, matrix == 'a' ? s.a8 : s.b8});
    }
    all.push_back({s.shape, s.m, s.n, 16, 'c', "f16", 16, 4});
    all.push_back({s.shape, s.m, s.n, 16, 'c', "f32", 32, 8});
    all.push_back({s.shape, s.m, s.n, 16, 'c', "s32", 32, 8});
  }
  for (const char matrix : {'a', 'b'}) {
    all.push_back({"m16n16k8", 16, 16, 8, matrix, "tf32", 32, 4});
    all.push_back({"m8n8k4", 8, 8, 4, matrix, "f64", 64, 1});
  }
  all.push_back({"m16n16k8", 16, 16, 8, 'c', "f32", 32, 8});
  all.push_back({"m8n8k4", 8, 8, 4, 'c', "f64", 64, 2});
  return all;
}

inline int rows(const Fragment &f) { return f.matrix == 'b' ? f.k : f.m; }
inline int columns(const Fragment &f) { return f.matrix == 'a' ? f.k : f.n; }
inline int register_bytes(const Fragment &f) { return f.bits == 64 ? 8 : 4; }

// Returns the kernel that loads the fragment by rows from `from` and writes its registers to `to`.
inline std::string text(const Fragment &f, std::string_view header) {
  const int size = register_bytes(f);
  const std::string type = size == 8 ? ".b64 " : ".b32 ";
  std::string t{header};
  t += ".visible .entry k(.param .u64 from, .param .u64 to) {\n"
       ".reg .b64 x, y; .reg .u32 l; mov.u32 l, %tid.x; ld.param.u64 x, [from];\n";
  for (int i = 0; i < f.registers; ++i)
    t.append(".reg ").append(type).append("r").append(number(std::size_t(i))).append(";\n");
  t.append("wmma.load.")
      .append(1, f.matrix)
      .append(".sync.aligned.row.")
      .append(f.shape)
      .append(".global.")
      .append(f.type);
  t.append(" ").append(registers('r', f.registers)).append(", [x], ").append(number(std::size_t(columns(f))));
  t.append(";\nld.param.u64 x, [to]; mul.wide.u32 y, l, ")
      .append(number(std::size_t(f.registers) * std::size_t(size)));
  t += "; add.u64 x, x, y;\n";
  for (int i = 0; i < f.registers; ++i)
    t.append("st.global")
        .append(type)
        .append("[x+")
        .append(number(std::size_t(i) * std::size_t(size)))
        .append("], r")
        .append(number(std::size_t(i)))
        .append(";\n");
  return t + "ret; }\n";
}

// The elements of the matrix in memory: the index of each, cut off to its size.
inline std::vector<std::uint8_t> elements(const Fragment &f) {
  const std::size_t size = static_cast<std::size_t>(f.bits) / 8;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(rows(f) * columns(f)) * size);
  for (std::uint64_t i = 0; i * size < all.size(); ++i) std::memcpy(&all[i * size], &i, size);
  return all;
}

// A function of the special function units, and the exponents of the arguments whose mantissas are all
// recorded.
struct Function {
  std::string_view instruction;
  std::vector<int> exponents;
};

// Returns the instruction without .ftz; empty if it has none.
inline std::string without_ftz(std::string_view instruction) {
  const std::size_t at = instruction.find(".ftz");
  return at == instruction.npos ? "" : std::string{instruction}.erase(at, 4);
}

inline std::vector<Function> functions() {
  return {
      {"rcp.approx.ftz.f32", {0}},     {"rsqrt.approx.ftz.f32", {0, 1}},
      {"sqrt.approx.ftz.f32", {0, 1}}, {"ex2.approx.ftz.f32", {0, -1}},
      {"lg2.approx.ftz.f32", {0, -1}}, {"sin.approx.ftz.f32", {0, 1, 2}},
      {"cos.approx.ftz.f32", {0, 1}},  {"tanh.approx.f32", {-9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3}}};
}

// The results for consecutive mantissas, as one number for each block of this size; one of `block_step`
// blocks is kept.
inline constexpr std::uint32_t block_size = 8192, blocks = 1024, block_step = 32;

inline std::uint32_t hash(std::uint32_t before, std::uint32_t result) {
  return (before ^ result) * 16777619u + (before >> 15);
}
inline constexpr std::uint32_t first_hash = 2166136261u;

// Arguments of all exponents, for the instructions with and without .ftz.
inline std::vector<std::uint32_t> arguments() {
  static constexpr std::uint32_t edges[] = {
      0,          1,          0x7fffff,   0x800000,   0x800001,   0x7f7fffff, 0x7f800000, 0x7fc00000,
      0x7f800001, 0x3f800000, 0x40000000, 0x42fe0000, 0x43000000, 0x43150000, 0x43160000, 0x3f000000,
      0x3effffff, 0x33000000, 0x7effffff, 0x7e800000, 0x7e7fffff, 0x7f000000};
  std::vector<std::uint32_t> all;
  for (const std::uint32_t one : edges) {
    all.push_back(one);
    all.push_back(one | 0x80000000);
  }
  std::uint64_t state = 7;
  while (all.size() < 2048) all.push_back(static_cast<std::uint32_t>(next(state) >> 16));
  return all;
}

// Returns the kernel that applies an instruction to f32 values: thread i of block j reads from[256 * j + i].
inline std::string text(std::string_view instruction, std::string_view header) {
  std::string t{header};
  t += ".visible .entry k(.param .u64 from, .param .u64 to) {\n"
       ".reg .b32 r, i, c, t; .reg .b64 p, q, o; mov.u32 c, %ctaid.x; mov.u32 t, %tid.x;\n"
       "mad.lo.u32 i, c, 256, t; mul.wide.u32 o, i, 4; ld.param.u64 p, [from]; ld.param.u64 q, [to];\n"
       "add.u64 p, p, o; add.u64 q, q, o; ld.global.b32 r, [p];\n";
  return t.append(instruction).append(" r, r;\nst.global.b32 [q], r; ret; }\n");
}

}  // namespace cushim::ptx::units
