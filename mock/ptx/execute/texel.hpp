// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cushim/ptx/textures.hpp"

namespace cushim::ptx::execute {

// An element of a texture: four words that hold floats, or integers extended to 32 bits.
using Texel = std::array<std::uint32_t, 4>;

// Returns whether elements are read as floats.
bool reads_floats(const TexelFormat &format);

// Reads an element. Channels that the format lacks are 0, the fourth too, as measured on an H200. The least
// signed normalized integer is less than -1: linear filters sum it so.
Texel read_texel(const TexelFormat &format, bool is_srgb, const std::byte *from);

// Returns an element as a fetch returns it: at least -1 if it is normalized.
Texel clamped(const TexelFormat &format, Texel texel);

// Returns a border as an element of the format holds it. Measured on an H200.
Texel border_texel(const TexelFormat &format, bool is_srgb, const Texel &border);

// Writes an element. Converts floats to normalized integers, and clamps integers to the range of the channel.
// PTX ISA, sust.p. Floats of 16 bits are rounded toward zero, as measured on an H200.
void write_texel(const TexelFormat &format, std::byte *to, const Texel &texel);

// Returns the binary exponent with which an H200 stores a color of sRGB: eight consecutive bytes share that
// of the largest.
int color_exponent(float color);

}  // namespace cushim::ptx::execute
