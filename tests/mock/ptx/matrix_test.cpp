// SPDX-License-Identifier: Apache-2.0
// wmma, mma.m8n8k4 on f16, movmatrix. The bits of other mma are compared in units/.
#include <array>
#include <bit>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

struct Shape {
  int m, n, k;
};

LaunchShape warp() {
  LaunchShape made;
  made.block.x = 32;
  return made;
}

// Returns the bits of an integer as f16, towards zero.
std::uint16_t half(int value) {
  if (value == 0) return 0;
  const unsigned magnitude = static_cast<unsigned>(std::abs(value)),
                 top = 31 - static_cast<unsigned>(__builtin_clz(magnitude));
  const unsigned mantissa = top <= 10 ? magnitude << (10 - top) : magnitude >> (top - 10);
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | (15 + top) << 10 | (mantissa & 0x3ff));
}

std::string registers(const std::string &name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + name + std::to_string(i);
  return text + "}";
}

// Returns the kernel that computes d = a * b + c in one shape; a and c by rows, b and d by columns.
std::string wmma_kernel(const std::string &shape) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {
  .reg .b32 a<8>, b<8>; .reg .f32 c<8>, d<8>; .reg .b64 x; .shared .align 32 .b8 tile[1024]; .reg .b64 y, z; .reg .b32 t, s;
)";
  const auto line = [&](const std::string &one) { text += "  " + one + ";\n"; };
  line("ld.param.u64 x, [pa]");
  line("wmma.load.a.sync.aligned.row." + shape + ".global.f16 " + registers("a", 8) + ", [x]");
  line("ld.param.u64 x, [pb]");
  line("wmma.load.b.sync.aligned.col." + shape + ".global.f16 " + registers("b", 8) + ", [x]");
  line("ld.param.u64 x, [pc]");
  line("wmma.load.c.sync.aligned.row." + shape + ".global.f32 " + registers("c", 8) + ", [x]");
  line("wmma.mma.sync.aligned.row.col." + shape + ".f32.f32 " + registers("d", 8) + ", " + registers("a", 8) +
       ", " + registers("b", 8) + ", " + registers("c", 8));
  line("mov.u32 s, tile");
  line("wmma.store.d.sync.aligned.col." + shape + ".shared.f32 [s], " + registers("d", 8));
  text += R"(  bar.sync 0; mov.u32 t, %tid.x; shl.b32 t, t, 5; add.u32 s, s, t; cvt.u64.u32 y, t;
  ld.param.u64 x, [pd]; add.u64 x, x, y;
  ld.shared.v4.u32 {a0, a1, a2, a3}, [s]; st.global.v4.u32 [x], {a0, a1, a2, a3};
  ld.shared.v4.u32 {a0, a1, a2, a3}, [s+16]; st.global.v4.u32 [x+16], {a0, a1, a2, a3};
  ret; }
)";
  return text;
}

TEST(Wmma, MultipliesMatricesOfEachShape) {
  for (const Shape &s : {Shape{16, 16, 16}, Shape{32, 8, 16}, Shape{8, 32, 16}}) {
    const std::string shape =
        "m" + std::to_string(s.m) + "n" + std::to_string(s.n) + "k" + std::to_string(s.k);
    Loaded loaded(wmma_kernel(shape));
    ASSERT_EQ(loaded.refused, "") << shape;
    std::vector<std::uint16_t> a, b;
    std::vector<float> c;
    const auto left = [](int row, int k) { return (row * 5 + k * 3) % 17 - 8; };
    const auto right = [](int k, int column) { return (k * 7 + column * 11) % 13 - 6; };
    for (int row = 0; row < s.m; ++row)
      for (int k = 0; k < s.k; ++k) a.push_back(half(left(row, k)));
    for (int column = 0; column < s.n; ++column)
      for (int k = 0; k < s.k; ++k) b.push_back(half(right(k, column)));
    for (int i = 0; i < s.m * s.n; ++i) c.push_back(static_cast<float>(i));
    const auto pa = loaded.memory.add(a), pb = loaded.memory.add(b), pc = loaded.memory.add(c),
               pd = loaded.memory.add(1024);
    const LaunchResult result = loaded.run("k", warp(), pa, pb, pc, pd);
    ASSERT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line;
    const auto d = loaded.memory.get<float>(pd, 256);
    for (int row = 0; row < s.m; ++row)
      for (int column = 0; column < s.n; ++column) {
        int sum = row * s.n + column;
        for (int k = 0; k < s.k; ++k) sum += left(row, k) * right(k, column);
        EXPECT_EQ(d[static_cast<std::size_t>(column * s.m + row)], static_cast<float>(sum))
            << shape << " " << row << " " << column;
      }
  }
}

TEST(Wmma, AFragmentBeyondMemoryIsAFault) {
  Loaded loaded(wmma_kernel("m16n16k16"));
  const auto small = loaded.memory.add(64);
  EXPECT_EQ(loaded.run("k", warp(), small, small, small, small).fault.kind, FaultKind::illegal_address);
}

// The product of mma.m8n8k4 on f16, which each quad of lanes computes with its own matrices.
struct QuadProduct {
  bool a_by_columns, b_by_columns, half_c, half_d;

  std::string kernel() const {
    const auto layout = [](bool by_columns) { return by_columns ? ".col" : ".row"; };
    const auto type = [](bool is_half) { return is_half ? ".f16" : ".f32"; };
    std::string text{testing::header};
    text += R"(.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {
  .reg .b32 a<2>, b<2>, c<8>, d<8>, t; .reg .b64 x, y; mov.u32 t, %tid.x;
  ld.param.u64 x, [pa]; mul.wide.u32 y, t, 8; add.u64 x, x, y; ld.global.v2.u32 {a0, a1}, [x];
  ld.param.u64 x, [pb]; add.u64 x, x, y; ld.global.v2.u32 {b0, b1}, [x];
  ld.param.u64 x, [pc]; mul.wide.u32 y, t, 32; add.u64 x, x, y;
  ld.global.v4.u32 {c0, c1, c2, c3}, [x]; ld.global.v4.u32 {c4, c5, c6, c7}, [x+16];
  mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0; mov.b32 d4, 0; mov.b32 d5, 0; mov.b32 d6, 0; mov.b32 d7, 0;
  )";
    text.append("mma.sync.aligned.m8n8k4").append(layout(a_by_columns)).append(layout(b_by_columns));
    text.append(type(half_d)).append(".f16.f16").append(type(half_c)).append(" ");
    text += registers("d", half_d ? 4 : 8) + ", {a0, a1}, {b0, b1}, " + registers("c", half_c ? 4 : 8) + ";";
    return text + R"(
  ld.param.u64 x, [pd]; add.u64 x, x, y;
  st.global.v4.u32 [x], {d0, d1, d2, d3}; st.global.v4.u32 [x+16], {d4, d5, d6, d7}; ret; }
)";
  }

  // The row and the column of element `i` of a lane. PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16".
  struct At {
    unsigned row, column;
  };
  At a_at(unsigned lane, unsigned i) const {
    const unsigned upper = lane < 16 ? 0 : 4;
    return a_by_columns ? At{i + upper, lane % 4} : At{lane % 4 + upper, i};
  }
  At b_at(unsigned lane, unsigned i) const {
    const unsigned upper = lane < 16 ? 0 : 4;
    return b_by_columns ? At{i, lane % 4 + upper} : At{lane % 4, i + upper};
  }
  static At c_at(unsigned lane, unsigned i, bool is_half) {
    const unsigned upper = lane < 16 ? 0 : 4;
    return is_half ? At{lane % 4 + upper, i}
                   : At{(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  }

  static void put(std::vector<std::uint32_t> &to, std::size_t first, unsigned i, bool is_half, int value) {
    if (is_half)
      to[first + i / 2] |= std::uint32_t{half(value)} << i % 2 * 16;
    else
      to[first + i] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }

  // Returns the registers d0 to d7 of all lanes.
  template <class A, class B, class C>
  std::vector<std::uint32_t> run(A &&a, B &&b, C &&c) const {
    std::vector<std::uint32_t> as(64), bs(64), cs(256);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned quad = lane % 16 / 4;
      for (unsigned i = 0; i < 4; ++i) {
        put(as, lane * 2, i, true, a(quad, a_at(lane, i)));
        put(bs, lane * 2, i, true, b(quad, b_at(lane, i)));
      }
      for (unsigned i = 0; i < 8; ++i) put(cs, lane * 8, i, half_c, c(quad, c_at(lane, i, half_c)));
    }
    Loaded loaded(kernel());
    EXPECT_EQ(loaded.refused, "");
    const auto pa = loaded.memory.add(as), pb = loaded.memory.add(bs), pc = loaded.memory.add(cs),
               pd = loaded.memory.add(1024);
    EXPECT_TRUE(loaded.run("k", warp(), pa, pb, pc, pd));
    return loaded.memory.get<std::uint32_t>(pd, 256);
  }
};

TEST(Mma, EachQuadMultipliesItsMatrices) {
  using At = QuadProduct::At;
  const auto a = [](unsigned quad, At at) { return int((at.row * 5 + at.column * 3 + quad) % 17) - 8; };
  const auto b = [](unsigned quad, At at) { return int((at.row * 7 + at.column * 11 + quad) % 13) - 6; };
  const auto c = [](unsigned quad, At at) { return int(quad * 64 + at.row * 8 + at.column); };
  for (unsigned variant = 0; variant < 12; ++variant) {
    const QuadProduct product{variant % 2 == 1, variant / 2 % 2 == 1, variant < 8, variant < 4};
    std::vector<std::uint32_t> expected(256);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned quad = lane % 16 / 4;
        const At at = QuadProduct::c_at(lane, i, product.half_d);
        int sum = c(quad, at);
        for (unsigned k = 0; k < 4; ++k) sum += a(quad, {at.row, k}) * b(quad, {k, at.column});
        QuadProduct::put(expected, lane * 8, i, product.half_d, sum);
      }
    EXPECT_EQ(product.run(a, b, c), expected) << product.kernel();
  }
}

// The products 2^30, 0, -2^30, 0 are added to 1. ptxas adds c last to an f32 sum, but two products at a time
// to an f16 sum, which loses 1. Measured on an H200, driver 580.159 (random inputs).
TEST(Mma, QuadsAddInTheOrderOfPtxas) {
  using At = QuadProduct::At;
  const auto a = [](unsigned, At at) { return at.column % 2 == 0 ? 32768 : 0; };
  const auto b = [](unsigned, At at) { return at.row == 0 ? 32768 : at.row == 2 ? -32768 : 0; };
  const auto c = [](unsigned, At) { return 1; };
  EXPECT_EQ((QuadProduct{false, true, true, true}.run(a, b, c))[0], 0u);
  EXPECT_EQ((QuadProduct{false, true, true, false}.run(a, b, c))[0], 0x3f800000u);
  EXPECT_EQ((QuadProduct{false, true, false, false}.run(a, b, c))[0], 0x3f800000u);
}

TEST(Movmatrix, TransposesTheMatrixOfAWarp) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 out) {
  .reg .b32 t, v, d; .reg .b64 x, y; mov.u32 t, %tid.x; shl.b32 v, t, 1; mad.lo.u32 v, v, 0x10001, 0x10000;
  movmatrix.sync.aligned.m8n8.trans.b16 d, v;
  ld.param.u64 x, [out]; mul.wide.u32 y, t, 4; add.u64 x, x, y; st.global.u32 [x], d; ret; }
)";
  Loaded loaded(text);
  ASSERT_EQ(loaded.refused, "");
  const auto out = loaded.memory.add(128);
  ASSERT_TRUE(loaded.run("k", warp(), out));
  const auto d = loaded.memory.get<std::uint16_t>(out, 64);
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t column = 0; column < 8; ++column) EXPECT_EQ(d[row * 8 + column], column * 8 + row);
}

// 2^24 + 1 of the first four products is cut off to 2^24.
TEST(Matrix, WmmaOnTf32AddsFourProductsAtATime) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pd) {
  .reg .b32 a<4>, b<4>; .reg .f32 z, d<8>; .reg .b64 x; mov.f32 z, 0f00000000;
  ld.param.u64 x, [pa]; wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {a0,a1,a2,a3}, [x];
  ld.param.u64 x, [pb]; wmma.load.b.sync.aligned.col.m16n16k8.global.tf32 {b0,b1,b2,b3}, [x];
  wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 )" +
          registers("d", 8) + R"(, {a0,a1,a2,a3}, {b0,b1,b2,b3}, {z,z,z,z,z,z,z,z};
  ld.param.u64 x, [pd]; wmma.store.d.sync.aligned.row.m16n16k8.global.f32 [x], )" +
          registers("d", 8) + "; ret; }\n";
  Loaded loaded(text);
  std::vector<float> a(16 * 8), b(8 * 16, 1);
  a[0] = 0x1p24f, a[1] = 1, a[4] = -0x1p24f;
  a[8] = 0x1p24f, a[12] = 1, a[13] = -0x1p24f;
  const auto at_a = loaded.memory.add(a), at_b = loaded.memory.add(b), at_d = loaded.memory.add(16 * 16 * 4);
  ASSERT_TRUE(loaded.run("k", warp(), at_a, at_b, at_d));
  const auto d = loaded.memory.get<float>(at_d, 32);
  EXPECT_EQ(d[0], 0);
  EXPECT_EQ(d[16], 1);
}

}  // namespace
}  // namespace cushim::ptx
