// SPDX-License-Identifier: Apache-2.0
// mma and wmma on elements of 1 and 4 bits. Layouts: PTX ISA, "Matrix Fragments for mma".
#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

struct Case {
  int m, n, k;
  std::string a, b, operation;  // of elements of 1 bit
};

int bits_of(std::string_view type) { return type == "b1" ? 1 : 4; }

// Returns the value of an element from its bits.
int value_of(std::string_view type, unsigned bits) {
  return type == "s4" && bits >= 8 ? static_cast<int>(bits) - 16 : static_cast<int>(bits);
}

unsigned a_bits(const Case &c, int row, int k) {
  return static_cast<unsigned>(row * 7 + k * 5 + row * k / 3) % (1u << bits_of(c.a));
}
unsigned b_bits(const Case &c, int k, int column) {
  return static_cast<unsigned>(column * 11 + k * 3 + column * k / 5) % (1u << bits_of(c.b));
}
int c_value(int row, int column) { return row * 100 - column; }

int expected(const Case &c, int row, int column) {
  int sum = c_value(row, column);
  for (int k = 0; k < c.k; ++k) {
    const unsigned left = a_bits(c, row, k), right = b_bits(c, k, column);
    sum += c.operation == "xor"   ? static_cast<int>(left ^ right)
           : c.operation == "and" ? static_cast<int>(left & right)
                                  : value_of(c.a, left) * value_of(c.b, right);
  }
  return sum;
}

std::string vector(const std::string &name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + std::to_string(i);
  return text + "}";
}

LaunchShape warp() {
  LaunchShape made;
  made.block.x = 32;
  return made;
}

// Each thread has its registers of A, B and C one after the other in memory, and those of D there at the end.
std::string mma_kernel(const Case &c) {
  const int a = c.m * c.k * bits_of(c.a) / 1024, b = c.n * c.k * bits_of(c.b) / 1024, d = c.m / 4;
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 registers) {
  .reg .b32 a<4>, b<4>, c<4>, t; .reg .b64 x, y; mov.u32 t, %tid.x; mul.wide.u32 y, t, 48;
  ld.param.u64 x, [registers]; add.u64 x, x, y;
  ld.global.v4.u32 {a0, a1, a2, a3}, [x]; ld.global.v4.u32 {b0, b1, b2, b3}, [x+16];
  ld.global.v4.u32 {c0, c1, c2, c3}, [x+32];
)";
  text += "  mma.sync.aligned.m" + std::to_string(c.m) + "n" + std::to_string(c.n) + "k" +
          std::to_string(c.k) + ".row.col.s32." + c.a + "." + c.b + ".s32" +
          (c.operation.empty() ? "" : "." + c.operation + ".popc") + " " + vector("c", d) + ", " +
          vector("a", a) + ", " + vector("b", b) + ", " + vector("c", d) + ";\n";
  return text + "  st.global.v4.u32 [x+32], {c0, c1, c2, c3}; ret; }\n";
}

void check_mma(const Case &c) {
  SCOPED_TRACE("m" + std::to_string(c.m) + "k" + std::to_string(c.k) + c.a + c.b + c.operation);
  Loaded loaded(mma_kernel(c));
  ASSERT_EQ(loaded.refused, "");
  const int bits = bits_of(c.a), per_register = 32 / bits, across = 4 * per_register;
  std::vector<std::uint32_t> registers(32 * 12);
  for (int thread = 0; thread < 32; ++thread) {
    std::uint32_t *const own = &registers[static_cast<std::size_t>(thread) * 12];
    const int group = thread / 4, member = thread % 4;
    for (int reg = 0; reg < c.m * c.k * bits / 1024; ++reg)
      for (int i = 0; i < per_register; ++i) {
        const int row = c.m == 8 ? group : group + reg % 2 * 8, block = c.m == 8 ? reg : reg / 2;
        own[reg] |= a_bits(c, row, block * across + member * per_register + i) << i * bits;
      }
    for (int reg = 0; reg < c.n * c.k * bits / 1024; ++reg)
      for (int i = 0; i < per_register; ++i)
        own[4 + reg] |= b_bits(c, reg * across + member * per_register + i, group) << i * bits;
    for (int reg = 0; reg < c.m / 4; ++reg)
      own[8 + reg] = static_cast<std::uint32_t>(c_value(group + reg / 2 * 8, member * 2 + reg % 2));
  }
  const auto at = loaded.memory.add(registers);
  ASSERT_TRUE(loaded.run("k", warp(), at));
  const auto given = loaded.memory.get<std::uint32_t>(at, registers.size());
  for (int thread = 0; thread < 32; ++thread)
    for (int reg = 0; reg < c.m / 4; ++reg)
      EXPECT_EQ(static_cast<int>(given[static_cast<std::size_t>(thread * 12 + 8 + reg)]),
                expected(c, thread / 4 + reg / 2 * 8, thread % 4 * 2 + reg % 2))
          << thread << " " << reg;
}

TEST(Mma, MultipliesBits) {
  for (const char *const operation : {"xor", "and"}) {
    check_mma({8, 8, 128, "b1", "b1", operation});
    check_mma({16, 8, 128, "b1", "b1", operation});
    check_mma({16, 8, 256, "b1", "b1", operation});
  }
}

TEST(Mma, MultipliesElementsOf4Bits) {
  for (const char *const a : {"s4", "u4"})
    for (const char *const b : {"s4", "u4"}) {
      check_mma({8, 8, 32, a, b, ""});
      check_mma({16, 8, 32, a, b, ""});
      check_mma({16, 8, 64, a, b, ""});
    }
}

// Loads the matrices from memory; lines of A and columns of B are `stride` elements apart.
void check_wmma(const Case &c, int stride) {
  SCOPED_TRACE(c.a + c.b + c.operation);
  const std::string shape = ".m8n8k" + std::to_string(c.k), pitch = std::to_string(stride);
  const std::string code = R"(.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {
  .reg .b32 a, b, c0, c1; .reg .b64 x, y, z;
  ld.param.u64 x, [pa]; ld.param.u64 y, [pb]; ld.param.u64 z, [pc];
  wmma.load.a.sync.aligned.row)" +
                           shape + ".global." + c.a + " {a}, [x], " + pitch + R"(;
  wmma.load.b.sync.aligned.col)" +
                           shape + ".global." + c.b + " {b}, [y], " + pitch + R"(;
  wmma.load.c.sync.aligned.row)" +
                           shape + R"(.global.s32 {c0, c1}, [z], 8;
  wmma.mma)" + (c.operation.empty() ? "" : "." + c.operation + ".popc") +
                           ".sync.aligned.row.col" + shape + ".s32." + c.a + "." + c.b +
                           R"(.s32 {c0, c1}, {a}, {b}, {c0, c1};
  wmma.store.d.sync.aligned.row)" +
                           shape + ".global.s32 [z], {c0, c1}, 8; ret; }\n";
  Loaded loaded(std::string{testing::header} + code);
  ASSERT_EQ(loaded.refused, "");
  const int bits = bits_of(c.a);
  std::vector<std::uint8_t> a(static_cast<std::size_t>(8 * stride * bits / 8)), b = a;
  std::vector<std::int32_t> sums;
  for (int line = 0; line < 8; ++line)
    for (int k = 0; k < c.k; ++k) {
      const int bit = (line * stride + k) * bits;
      const auto put = [bit](std::vector<std::uint8_t> &to, unsigned value) {
        auto &byte = to[static_cast<std::size_t>(bit / 8)];
        byte = static_cast<std::uint8_t>(byte | value << bit % 8);
      };
      put(a, a_bits(c, line, k));
      put(b, b_bits(c, k, line));
    }
  for (int i = 0; i < 64; ++i) sums.push_back(c_value(i / 8, i % 8));
  const auto pa = loaded.memory.add(a), pb = loaded.memory.add(b), pc = loaded.memory.add(sums);
  ASSERT_TRUE(loaded.run("k", warp(), pa, pb, pc));
  const auto given = loaded.memory.get<std::int32_t>(pc, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(given[static_cast<std::size_t>(i)], expected(c, i / 8, i % 8)) << i;
}

TEST(Wmma, LoadsAndMultipliesBits) {
  check_wmma({8, 8, 128, "b1", "b1", "xor"}, 128);
  check_wmma({8, 8, 128, "b1", "b1", "and"}, 256);
}

TEST(Wmma, LoadsAndMultipliesElementsOf4Bits) {
  check_wmma({8, 8, 32, "s4", "s4", ""}, 32);
  check_wmma({8, 8, 32, "u4", "u4", ""}, 64);
}

TEST(Mma, RefusesASelectorOfLanesThatASparseProductLacks) {
  const auto refused = [](std::string_view shape_and_types, int selector) {
    std::string text{testing::header};
    text += ".visible .entry k() { .reg .b32 a<4>, b<4>, c<4>, e;\n  mma.sp::ordered_metadata.sync.aligned.";
    text.append(shape_and_types).append(" {c0,c1,c2,c3}, {a0,a1,a2,a3}, {b0,b1,b2,b3}, {c0,c1,c2,c3}, e, ");
    return Loaded(text + std::to_string(selector) + "; ret; }\n").refused;
  };
  EXPECT_EQ(refused("m16n8k32.row.col.f32.bf16.bf16.f32", 1), "");
  EXPECT_NE(refused("m16n8k32.row.col.f32.bf16.bf16.f32", 2).find("outside of 0 to 1"), std::string::npos);
  EXPECT_NE(refused("m16n8k64.row.col.s32.s8.s8.s32", 1).find("outside of 0 to 0"), std::string::npos);
}

}  // namespace
}  // namespace cushim::ptx
