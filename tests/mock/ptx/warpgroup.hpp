// SPDX-License-Identifier: Apache-2.0
// Products of wgmma, compared with products that are computed on the CPU from small integers, which every
// type represents exactly. Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions".
#pragma once

#include <cstdlib>
#include <ostream>
#include <sstream>

#include "execute.hpp"

namespace cushim::ptx::wgmma {

using testing::Loaded;

inline constexpr unsigned shared_begins = 1024;  // address of the first shared variable
inline constexpr unsigned b_begins = 16384;      // offset of B in it; A begins at 0

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

inline std::ostream &operator<<(std::ostream &out, const Case &one) {
  return out << "n" << one.n << "k" << one.k << "." << one.d << "." << one.a << "." << one.b
             << (one.a_in_registers ? " registers" : "") << " swizzle " << one.swizzle_a << " "
             << one.swizzle_b << " transposed " << one.transposed_a << one.transposed_b << " scale "
             << one.scale_a << " " << one.scale_b << " adds " << one.adds;
}

inline int bits_of(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "f16" || type == "bf16") return 16;
  return type == "tf32" || type == "f32" || type == "s32" ? 32 : 8;
}

// Returns the bits of a small integer. Exponent and mantissa widths are those of the type.
inline std::uint32_t encoded(std::string_view type, int value) {
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

inline int a_value(const Case &c, int row, int k) {
  const int value = (row * 5 + k * 3 + row * k) % 7 - 3;
  return c.a == "u8" || c.a == "b1" ? std::abs(value) : value;
}
inline int b_value(const Case &c, int k, int column) {
  const int value = (column * 3 + k * 11 + column / 8 + k * column) % 5 - 2;
  return c.b == "u8" || c.b == "b1" ? std::abs(value) : value;
}
inline int c_value(int row, int column) { return (row * 7 + column) % 33 - 16; }

inline int expected(const Case &c, int row, int column) {
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

inline Placement placement(int swizzle, bool transposed) {
  const std::uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  if (swizzle == 0) return {transposed ? 4096u : 128u, transposed ? 128u : 256u, 0};
  // Transposed: groups of 8 k follow each other, then the next rows.
  if (transposed) return {16u * static_cast<unsigned>(swizzle), 8u * static_cast<unsigned>(swizzle), mode};
  return {16, 8u * static_cast<unsigned>(swizzle), mode};
}

// Returns the byte of an element and, in `bit`, its bit there. `row`: of A, or column of B.
inline int byte_of(int row, int k, int bits, int swizzle, bool transposed, int first_k_byte, int &bit) {
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

inline std::string vector(const std::string &name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + name + std::to_string(i);
  return text + "}";
}

// The kernel: copies the image to shared memory, loads A and C into registers by thread, multiplies and
// stores D.
inline std::string kernel(const Case &c) {
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

inline LaunchShape warpgroup(std::uint32_t threads = 128) {
  LaunchShape made;
  made.block.x = threads;
  return made;
}

inline void check(const Case &c) {
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
    return std::uint64_t{shared_begins + begin + c.base + skipped} >> 4 | p.leading >> 4 << 16 |
           p.stride >> 4 << 32 | std::uint64_t{swizzle == 0 ? 0 : c.base >> 7 & 7} << 49 | p.mode << 62;
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

}  // namespace cushim::ptx::wgmma
