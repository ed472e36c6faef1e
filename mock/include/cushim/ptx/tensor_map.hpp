// SPDX-License-Identifier: Apache-2.0
// The layout of tensor maps.
#pragma once

#include <array>
#include <cstdint>

namespace cushim::ptx {

// The content of a CUtensorMap, as cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col() of driver
// 580.159.04 write it for a device of compute capability 9.0, and as the device's tensor copies read it. The
// layout is undocumented; it was measured. A number N of elements is stored as N - 1.
struct TensorMap {
  std::array<std::uint32_t, 32> words{};

  // `bits` bits of a word, from bit `first`.
  struct Field {
    unsigned word, first, bits;
    constexpr std::uint32_t mask() const {
      return (bits == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits) - 1) << first;
    }
  };
  static constexpr Field is_im2col{2, 0, 1}, rank{2, 4, 3}, format{2, 7, 4}, interleave{2, 11, 2},
      swizzle{2, 13, 2}, fills_with_nan{2, 15, 1}, is_tf32{2, 16, 1}, l2_promotion{2, 17, 2};
  // Pixels of a column of an im2col map. Its channels are box(0).
  static constexpr Field pixels{15, 0, 10};
  // Bytes of the box, and the alignment in shared memory after which its swizzle repeats. Stored unchanged.
  static constexpr Field box_bytes{16, 0, 32}, box_alignment{18, 0, 32};
  static constexpr Field dimension(unsigned i) { return {8 + i, 0, 32}; }
  static constexpr Field element_stride(unsigned i) { return {13, 3 * i, 3}; }
  static constexpr Field box(unsigned i) { return i == 0 ? Field{13, 24, 8} : Field{14, 8 * (i - 1), 8}; }
  // Returns the width in bits of each corner offset of an im2col map with 1, 2 or 3 dimensions of pixels.
  static constexpr unsigned corner_bits(unsigned count) { return count == 1 ? 16 : count == 2 ? 8 : 5; }
  // The corner offset of the i-th of `count` dimensions of pixels, in two's complement.
  static constexpr Field lower_corner(unsigned i, unsigned count) {
    return {14, corner_bits(count) * i, corner_bits(count)};
  }
  static constexpr Field upper_corner(unsigned i, unsigned count) {
    return {14, 16 + corner_bits(count) * i, corner_bits(count)};
  }

  // Values of `format`.
  enum Format : std::uint32_t { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16 };

  // Reads a field.
  constexpr std::uint32_t get(Field field) const { return (words[field.word] & field.mask()) >> field.first; }
  // Writes a field.
  constexpr void set(Field field, std::uint32_t value) {
    words[field.word] = (words[field.word] & ~field.mask()) | (value << field.first & field.mask());
  }
  // Returns the address of the first element.
  constexpr std::uint64_t address() const { return words[0] | std::uint64_t{words[1]} << 32; }
  // Sets the address of the first element, in bytes.
  constexpr void set_address(std::uint64_t address) {
    words[0] = static_cast<std::uint32_t>(address);
    words[1] = static_cast<std::uint32_t>(address >> 32);
  }
  // Returns the distance in bytes of two neighbours in dimension i + 1: a multiple of 16, less than 2^40.
  constexpr std::uint64_t stride(unsigned i) const {
    return (words[3 + i] | std::uint64_t{get(stride_end(i))} << 32) << 4;
  }
  constexpr void set_stride(unsigned i, std::uint64_t bytes) {
    words[3 + i] = static_cast<std::uint32_t>(bytes >> 4);
    set(stride_end(i), static_cast<std::uint32_t>(bytes >> 36));
  }

 private:
  static constexpr Field stride_end(unsigned i) { return {7, 4 * i, 4}; }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace cushim::ptx
