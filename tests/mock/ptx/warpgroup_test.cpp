// SPDX-License-Identifier: Apache-2.0
// wgmma.
#include "warpgroup.hpp"

namespace cushim::ptx::wgmma {
namespace {

TEST(Wgmma, MultipliesEachTypeFromSharedMemoryAndFromRegisters) {
  for (const bool in_registers : {false, true}) {
    const auto types = [&](const char *d, const char *a, const char *b, int k) {
      Case c;
      c.d = d, c.a = a, c.b = b, c.k = k, c.n = 16, c.a_in_registers = in_registers;
      check(c);
    };
    types("f32", "f16", "f16", 16);
    types("f16", "f16", "f16", 16);
    types("f32", "bf16", "bf16", 16);
    types("f32", "tf32", "tf32", 8);
    types("f32", "e4m3", "e5m2", 32);
    types("f16", "e5m2", "e4m3", 32);
    types("s32", "s8", "u8", 32);
    types("s32", "u8", "s8", 32);
    types("s32", "b1", "b1", 256);
  }
}

TEST(Wgmma, MultipliesEachNumberOfColumns) {
  for (int n = 8; n <= 256; n += 8) {
    Case c;
    c.n = n;
    check(c);
  }
}

TEST(Wgmma, ReadsEachSwizzle) {
  for (const int swizzle : {32, 64, 128})
    for (const char *const type : {"f16", "tf32", "s8"}) {
      Case c;
      c.a = c.b = type;
      c.d = c.a == "s8" ? "s32" : "f32";
      c.k = 256 / bits_of(c.a);
      c.n = 24;
      c.swizzle_a = c.swizzle_b = swizzle;
      check(c);
    }
}

TEST(Wgmma, BeginsInsideTheLinesOfASwizzle) {
  for (const int first : {32, 64, 96}) {
    Case c;
    c.swizzle_a = c.swizzle_b = 128;
    c.first_k_byte = first;
    check(c);
  }
}

TEST(Wgmma, TheBaseOffsetIsTheLineWhereThePatternBegins) {
  Case c;
  c.swizzle_a = c.swizzle_b = 128;
  c.base = 3 * 128;
  check(c);
}

TEST(Wgmma, TransposesMatricesOf16Bits) {
  for (const int swizzle : {0, 32, 64, 128})
    for (const char *const type : {"f16", "bf16"}) {
      Case c;
      c.a = c.b = type;
      c.n = 136;
      c.swizzle_a = c.swizzle_b = swizzle;
      c.transposed_a = c.transposed_b = true;
      check(c);
      c.transposed_a = false;
      check(c);
      c.a_in_registers = true;
      check(c);
    }
}

TEST(Wgmma, ScalesByImmediatesAndByThePredicate) {
  for (const int scale_a : {1, -1})
    for (const int scale_b : {1, -1})
      for (const bool adds : {true, false}) {
        Case c;
        c.scale_a = scale_a, c.scale_b = scale_b, c.adds = adds;
        check(c);
        c.a_in_registers = true;
        check(c);
      }
}

TEST(Wgmma, SaturatesIntegers) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 out) { .reg .b32 d<4>, a, t; .reg .b64 x, y; .reg .pred p;
  .shared .align 128 .b32 tile[64]; mov.u32 t, %tid.x; setp.lt.u32 p, t, 64; mov.u32 a, tile; mad.lo.u32 a, t, 4, a;
  @p st.shared.u32 [a], 0x7f7f7f7f; bar.sync 0; mov.u32 a, 0x7f7f7f7f; mov.u64 y, tile; shr.u64 y, y, 4;
  or.b64 y, y, 0x80000; setp.eq.u32 p, t, t; mov.u32 d0, 0x7fffffff; mov.u32 d1, 5; mov.u32 d2, d0; mov.u32 d3, d0;
  wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite {d0, d1, d2, d3}, {a, a, a, a}, y, p;
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
  ld.param.u64 x, [out]; mul.wide.u32 y, t, 8; add.u64 x, x, y; st.global.v2.u32 [x], {d0, d1}; ret; }
)";
  Loaded loaded(text);
  const auto out = loaded.memory.add(1024);
  ASSERT_TRUE(loaded.run("k", warpgroup(), out));
  for (std::size_t i = 0; i < 256; i += 2) {
    EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 256)[i], 0x7fffffffu);
    EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 256)[i + 1], 5u + 32 * 127 * 127);
  }
}

// One warp overwrites the matrices as soon as its own wait returns: the other warps have read them by then.
TEST(Wgmma, AWaitReturnsAfterTheProductsOfTheWholeWarpgroup) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 out) { .reg .b32 d<4>, a, t, i; .reg .b64 x, y; .reg .pred p, q;
  .shared .align 128 .b32 tile[64]; mov.u32 t, %tid.x; setp.lt.u32 p, t, 64; mov.u32 a, tile; mad.lo.u32 a, t, 4, a;
  @p st.shared.u32 [a], 0x01010101; bar.sync 0; mov.u32 i, 0x01010101; mov.u64 y, tile; shr.u64 y, y, 4;
  or.b64 y, y, 0x80000; setp.ne.u32 q, t, t;
  wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {d0, d1, d2, d3}, {i, i, i, i}, y, q;
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
  @p st.shared.u32 [a], 0;
  ld.param.u64 x, [out]; mul.wide.u32 y, t, 4; add.u64 x, x, y; st.global.u32 [x], d0; ret; }
)";
  Loaded loaded(text);
  const auto out = loaded.memory.add(1024);
  ASSERT_TRUE(loaded.run("k", warpgroup(256), out));
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 256), std::vector<std::uint32_t>(256, 32));
}

constexpr std::string_view prologue =
    ".visible .entry k() { .reg .f32 d<8>; .reg .b32 r<24>; .reg .b64 x; .reg .pred p;\n"
    "mov.u64 x, 64; setp.eq.u32 p, 0, 0;\n";

std::string body(std::string_view instruction) {
  return std::string{testing::header}.append(prologue).append(instruction).append(";\nret; }\n");
}

// Returns the diagnostic of the parser or of the decoder.
std::string refusal(std::string_view instruction) {
  const auto parsed = parse(body(instruction));
  if (!parsed.ok()) return parsed.log();
  return Loaded(body(instruction)).refused;
}

// Measured on an H200: terms keep 13 bits below the exponent of the largest term, and so does a result of
// f32.
TEST(Wgmma, SumsOfFloatsOf8BitsKeep13FractionBits) {
  Case c;
  c.a = c.b = "e4m3", c.k = 32, c.a_in_registers = true, c.adds = false;
  // Returns the sum of four times the bytes of `a`.
  const auto sum = [&c](std::uint32_t a, bool adds = false, float start = 0) {
    Loaded loaded(kernel(c));
    std::vector<std::uint32_t> registers(128 * 4);
    for (std::size_t i = 0; i < 128; ++i) registers[4 * i] = a;
    const std::vector<std::uint8_t> ones(65536, 0x38);
    const std::vector<float> starts(128 * 4, start);
    const auto image = loaded.memory.add(ones), at = loaded.memory.add(registers),
               d = loaded.memory.add(starts);
    const std::uint64_t descriptor =
        (shared_begins + b_begins) >> 4 | 128 >> 4 << 16 | std::uint64_t{256 >> 4} << 32;
    EXPECT_TRUE(loaded.run("k", warpgroup(), image, at, d, std::uint64_t{shared_begins >> 4}, descriptor,
                           std::uint32_t{adds}));
    return loaded.memory.get<float>(d, 1)[0];
  };
  EXPECT_EQ(sum(0x00000878), 4 * 256.0f);             // 2^8 and 2^-6, which is cut off
  EXPECT_EQ(sum(0x00001078), 4 * (256 + 0.03125f));   // 2^8 and 2^-5
  EXPECT_EQ(sum(0x00001478), 4 * (256 + 0.03125f));   // 2^8 and 1.5 * 2^-5
  EXPECT_EQ(sum(0x00000038, true, 65536.0f), 65536);  // 2^16 and four times 1
  EXPECT_EQ(sum(0x00000050, true, 65536.0f), 65536 + 32);
  EXPECT_EQ(sum(0, true, 1.00001f), 1);
}

TEST(Wgmma, RefusesFormsThatPtxasRefuses) {
  const auto refuses = [](std::string_view instruction, std::string_view reason) {
    EXPECT_NE(refusal(instruction).find(reason), std::string::npos) << instruction << "\n"
                                                                    << refusal(instruction);
  };
  const std::string f16 = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, ";
  EXPECT_EQ(refusal(f16 + "x, x, p, 1, -1, 0, 1"), "");
  refuses("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2}, x, x, p, 1, 1, 0, 0", "wrong size");
  refuses(f16 + "{r0,r1,r2}, x, p, 1, 1, 0", "wrong size");
  refuses(f16 + "x, x, p, 2, 1, 0, 0", "neither 1 nor -1");
  refuses(f16 + "x, x, p, 1, 1, 0, 2", "neither 0 nor 1");
  refuses(f16 + "x, x, p, 1, 1, 0", "Arguments mismatch");
  refuses(f16 + "{r0,r1,r2,r3}, x, p, 1, 1, 0, 0", "Arguments mismatch");
  refuses("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {d0,d1,d2,d3}, x, x, p, 1, 1, 0, 0",
          "Arguments mismatch");
  refuses("wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {r0,r1}, x, x, p, 1, 1, 0, 0",
          "Unexpected instruction types");
  refuses("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {d0,d1,d2,d3}, x, x, p, 1, 1, 0, 0", "wgmma");
  refuses(
      "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {r0,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10,r11,r12,r13,r14,"
      "r15,r16,r17,r18,r19}, x, x, p",
      "wgmma");
}

TEST(Wgmma, RefusesASelectorOfLanesThatASparseProductLacks) {
  const std::string sparse = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {d0,d1,d2,d3}, x, x, r0, ";
  EXPECT_EQ(refusal(sparse + "1, p, 1, 1, 0, 0"), "");
  EXPECT_NE(refusal(sparse + "2, p, 1, 1, 0, 0").find("outside of 0 to 1"), std::string::npos);
}

TEST(Wgmma, AWarpgroupOfFewerWarpsAndAMatrixBeyondSharedMemoryAreFaults) {
  Loaded loaded(body("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, x, x, p, 1, 1, 0, 0"));
  EXPECT_EQ(loaded.run("k", warpgroup(96), 0).fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(loaded.run("k", warpgroup(), 0).fault.kind, FaultKind::illegal_address);
}

}  // namespace
}  // namespace cushim::ptx::wgmma
