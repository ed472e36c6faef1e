// SPDX-License-Identifier: Apache-2.0
// wgmma. The expected products are computed on the CPU from small integers, which every type represents
// exactly. Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#include <cstdlib>
#include <ostream>
#include <sstream>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

constexpr unsigned b_begins = 16384;  // offset of B in the shared memory; A begins at 0

struct Case {
  std::string a = "f16", b = "f16", d = "f32";
  int n = 8, k = 16;
  bool a_in_registers = false;
  int swizzle_a = 0, swizzle_b = 0;  // bytes
  bool transposed_a = false, transposed_b = false;
  int scale_a = 1, scale_b = 1;
  bool adds = true;
  int first_k_byte = 0;  // where the product begins in the lines of swizzled matrices
  unsigned base = 0;     // of A and B, in addition to their begins
};

std::ostream &operator<<(std::ostream &out, const Case &one) {
  return out << "n" << one.n << "k" << one.k << "." << one.d << "." << one.a << "." << one.b
             << (one.a_in_registers ? " registers" : "") << " swizzle " << one.swizzle_a << " "
             << one.swizzle_b << " transposed " << one.transposed_a << one.transposed_b << " scale "
             << one.scale_a << " " << one.scale_b << " adds " << one.adds;
}

int bits_of(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "f16" || type == "bf16") return 16;
  return type == "tf32" || type == "f32" || type == "s32" ? 32 : 8;
}

// Returns the bits of a small integer. Exponent and mantissa widths are those of the type.
std::uint32_t encoded(std::string_view type, int value) {
  if (type == "b1") return static_cast<std::uint32_t>(value) & 1;
  if (type == "s32") return static_cast<std::uint32_t>(value);
  if (type == "s8" || type == "u8") return static_cast<std::uint32_t>(value) & 0xff;
  const float number = static_cast<float>(value);
  std::uint32_t word;
  std::memcpy(&word, &number, 4);
  if (type == "f32" || type == "tf32") return word;
  if (type == "bf16") return word >> 16;
  const std::uint32_t sign = word >> 31, mantissa = word & 0x7fffff;
  const int exponent = static_cast<int>(word >> 23 & 0xff) - 127;
  const int mantissa_bits = type == "f16"    ? 10
                            : type == "e5m2" ? 2
                                             : 3,
            exponent_bits = type == "e4m3" ? 4 : 5;
  const std::uint32_t top = sign << (mantissa_bits + exponent_bits);
  if (value == 0) return top;
  return top | static_cast<std::uint32_t>(exponent + (1 << (exponent_bits - 1)) - 1) << mantissa_bits |
         mantissa >> (23 - mantissa_bits);
}

int a_value(const Case &c, int row, int k) {
  const int value = (row * 5 + k * 3 + row * k) % 7 - 3;
  return c.a == "u8" || c.a == "b1" ? std::abs(value) : value;
}
int b_value(const Case &c, int k, int column) {
  const int value = (column * 3 + k * 11 + column / 8 + k * column) % 5 - 2;
  return c.b == "u8" || c.b == "b1" ? std::abs(value) : value;
}
int c_value(int row, int column) { return (row * 7 + column) % 33 - 16; }

int expected(const Case &c, int row, int column) {
  int sum = 0;
  for (int k = 0; k < c.k; ++k)
    sum += c.a == "b1" ? a_value(c, row, k) & b_value(c, k, column) & 1
                       : a_value(c, row, k) * b_value(c, k, column);
  return (c.adds ? c_value(row, column) : 0) + sum * c.scale_a * c.scale_b;
}

// How a matrix lies in shared memory: the strides of its descriptor, and the byte of each element.
struct Placement {
  std::uint64_t leading, stride, mode;
};

Placement placement(int swizzle, bool transposed) {
  const std::uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  if (swizzle == 0) return {transposed ? 4096u : 128u, transposed ? 128u : 256u, 0};
  // Transposed: groups of 8 k follow each other, then the next rows.
  if (transposed) return {16u * static_cast<unsigned>(swizzle), 8u * static_cast<unsigned>(swizzle), mode};
  return {16, 8u * static_cast<unsigned>(swizzle), mode};
}

// Returns the byte of an element and, in `bit`, its bit there. `row`: of A, or column of B.
int byte_of(int row, int k, int bits, int swizzle, bool transposed, int first_k_byte, int &bit) {
  const int across = transposed ? row : k, down = transposed ? k : row;  // along and across the lines
  bit = across * bits % 8;
  const int in_line = across * bits / 8;
  if (swizzle == 0) {
    const int core = transposed ? down / 8 * 4096 + in_line / 16 * 128 : down / 8 * 256 + in_line / 16 * 128;
    return core + down % 8 * 16 + in_line % 16;
  }
  const int at = in_line + (transposed ? 0 : first_k_byte);
  // Lines of `swizzle` bytes, 8 lines a group. The chunks of 16 bytes are exchanged within a line.
  const int group =
      transposed ? at / swizzle * 16 * swizzle + down / 8 * 8 * swizzle : down / 8 * 8 * swizzle;
  const int line = down % 8, chunk = at % swizzle / 16;
  const int exchanged = chunk ^ (swizzle == 128 ? line : swizzle == 64 ? line / 2 : line / 4);
  return group + line * swizzle + exchanged * 16 + at % 16;
}

std::string vector(const std::string &name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + name + std::to_string(i);
  return text + "}";
}

// The kernel: copies the image to shared memory, loads A and C into registers by thread, multiplies and
// stores D.
std::string kernel(const Case &c) {
  const int registers = c.d == "f16" ? c.n / 4 : c.n / 2;
  const std::string count = std::to_string(registers);
  std::string text{testing::header};
  text +=
      R"(.visible .entry k(.param .u64 image, .param .u64 pa, .param .u64 pc, .param .u64 da, .param .u64 db, .param .u32 adds) {
  .reg .b32 a<4>, d<)" +
      count + R"(>, t, i, s; .reg .b64 x, y, z, p, q; .reg .pred more, plus;
  .shared .align 1024 .b8 tile[65536];
  mov.u32 t, %tid.x; ld.param.u64 x, [image]; mov.u32 s, tile; mov.u32 i, t;
COPY: mul.wide.u32 y, i, 4; add.u64 z, x, y; ld.global.u32 a0, [z]; cvt.u32.u64 a1, y; add.u32 a1, a1, s;
  st.shared.u32 [a1], a0; add.u32 i, i, 128; setp.lt.u32 more, i, 16384; @more bra COPY;
  fence.proxy.async; bar.sync 0;
  ld.param.u64 x, [pa]; mul.wide.u32 y, t, 16; add.u64 x, x, y; ld.global.v4.u32 {a0, a1, a2, a3}, [x];
  ld.param.u64 x, [pc]; mul.wide.u32 y, t, )" +
      std::to_string(registers * 4) + R"(; add.u64 x, x, y;
)";
  for (int i = 0; i < registers; ++i)
    text += "  ld.global.b32 d" + std::to_string(i) + ", [x+" + std::to_string(4 * i) + "];\n";
  text += "  ld.param.u64 p, [da]; ld.param.u64 q, [db]; ld.param.u32 i, [adds]; setp.ne.u32 plus, i, 0;\n";
  text += "  wgmma.fence.sync.aligned;\n  wgmma.mma_async.sync.aligned.m64n" + std::to_string(c.n) + "k" +
          std::to_string(c.k) + "." + c.d + "." + c.a + "." + c.b + (c.a == "b1" ? ".and.popc " : " ") +
          vector("d", registers) + ", " + (c.a_in_registers ? "{a0, a1, a2, a3}" : "p") + ", q, plus";
  if (c.d != "s32") text += ", " + std::to_string(c.scale_a) + ", " + std::to_string(c.scale_b);
  if (bits_of(c.a) == 16) {
    if (!c.a_in_registers) text += c.transposed_a ? ", 1" : ", 0";
    text += c.transposed_b ? ", 1" : ", 0";
  }
  text += ";\n  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  for (int i = 0; i < registers; ++i)
    text += "  st.global.b32 [x+" + std::to_string(4 * i) + "], d" + std::to_string(i) + ";\n";
  return text + "  ret; }\n";
}

LaunchShape warpgroup(std::uint32_t threads = 128) {
  LaunchShape made;
  made.block.x = threads;
  return made;
}

void check(const Case &c) {
  std::ostringstream name;
  name << c;
  SCOPED_TRACE(name.str());
  Loaded loaded(kernel(c));
  ASSERT_EQ(loaded.refused, "");
  std::vector<std::uint8_t> image(65536);
  const auto put = [&](std::size_t at, int bit, std::string_view type, int value) {
    const std::uint32_t bits = encoded(type, value);
    if (type == "b1")
      image.at(at) = static_cast<std::uint8_t>(image.at(at) | bits << bit);
    else
      std::memcpy(&image.at(at), &bits, static_cast<std::size_t>(bits_of(type) / 8));
  };
  int bit = 0;
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < c.k; ++k) {
      const int at = byte_of(row, k, bits_of(c.a), c.swizzle_a, c.transposed_a, c.first_k_byte, bit);
      put(c.base + static_cast<std::size_t>(at), bit, c.a, a_value(c, row, k));
    }
  for (int column = 0; column < c.n; ++column)
    for (int k = 0; k < c.k; ++k) {
      const int at = byte_of(column, k, bits_of(c.b), c.swizzle_b, c.transposed_b, c.first_k_byte, bit);
      put(b_begins + c.base + static_cast<std::size_t>(at), bit, c.b, b_value(c, k, column));
    }
  const auto descriptor = [&](unsigned begin, int swizzle, bool transposed) {
    const Placement p = placement(swizzle, transposed);
    const unsigned skipped = swizzle != 0 && !transposed ? static_cast<unsigned>(c.first_k_byte) : 0;
    return std::uint64_t{begin + c.base + skipped} >> 4 | p.leading >> 4 << 16 | p.stride >> 4 << 32 |
           std::uint64_t{swizzle == 0 ? 0 : c.base >> 7 & 7} << 49 | p.mode << 62;
  };
  // The registers of A and of C: thread t of a warp has row t / 4, and row t / 4 + 8.
  std::vector<std::uint32_t> a(128 * 4);
  const int per_register = 32 / bits_of(c.a);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 4 * per_register && c.a_in_registers; ++i) {
      const int reg = i / per_register, row = thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8,
                k = thread % 4 * per_register + i % per_register + reg / 2 * 4 * per_register,
                index = thread * 4 + reg;
      a[static_cast<std::size_t>(index)] |= encoded(c.a, a_value(c, row, k))
                                            << (i % per_register * bits_of(c.a));
    }
  const int registers = c.d == "f16" ? c.n / 4 : c.n / 2, in_register = c.d == "f16" ? 2 : 1;
  // Calls `visit` with each element of D: index of its register, part of the register, row and column.
  const auto each = [&](auto visit) {
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const int index = thread * registers + i / in_register;
        visit(static_cast<std::size_t>(index), i % in_register,
              thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2);
      }
  };
  std::vector<std::uint32_t> d(static_cast<std::size_t>(128 * registers)), wanted = d;
  each([&](std::size_t reg, int part, int row, int column) {
    d[reg] |= encoded(c.d, c_value(row, column)) << 16 * part;
    wanted[reg] |= encoded(c.d, expected(c, row, column)) << 16 * part;
  });
  const auto image_at = loaded.memory.add(image), a_at = loaded.memory.add(a), d_at = loaded.memory.add(d);
  const LaunchResult result =
      loaded.run("k", warpgroup(), image_at, a_at, d_at, descriptor(0, c.swizzle_a, c.transposed_a),
                 descriptor(b_begins, c.swizzle_b, c.transposed_b), std::uint32_t{c.adds});
  ASSERT_TRUE(result) << ptx::name(result.fault.kind) << " line " << result.fault.line << " "
                      << result.fault.message;
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(d_at, d.size()), wanted);
}

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
    "mov.u64 x, 0; setp.eq.u32 p, 0, 0;\n";

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
    const std::uint64_t descriptor = b_begins >> 4 | 128 >> 4 << 16 | std::uint64_t{256 >> 4} << 32;
    EXPECT_TRUE(
        loaded.run("k", warpgroup(), image, at, d, std::uint64_t{0}, descriptor, std::uint32_t{adds}));
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

TEST(Wgmma, RefusesSparseMatrices) {
  EXPECT_NE(
      refusal(
          "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {d0,d1,d2,d3}, x, x, r0, 0, p, 1, 1, 0, 0")
          .find("is not supported"),
      std::string::npos);
}

TEST(Wgmma, AWarpgroupOfFewerWarpsAndAMatrixBeyondSharedMemoryAreFaults) {
  Loaded loaded(body("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, x, x, p, 1, 1, 0, 0"));
  EXPECT_EQ(loaded.run("k", warpgroup(96), 0).fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(loaded.run("k", warpgroup(), 0).fault.kind, FaultKind::illegal_address);
}

}  // namespace
}  // namespace cushim::ptx
