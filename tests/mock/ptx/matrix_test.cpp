// SPDX-License-Identifier: Apache-2.0
// wmma, movmatrix. The bits of mma are compared in units/.
#include <array>

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

// Returns the bits of a small integer as f16.
std::uint16_t half(int value) {
  if (value == 0) return 0;
  const unsigned magnitude = static_cast<unsigned>(std::abs(value)),
                 top = 31 - static_cast<unsigned>(__builtin_clz(magnitude));
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | (15 + top) << 10 |
                                    ((magnitude << (10 - top)) & 0x3ff));
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
