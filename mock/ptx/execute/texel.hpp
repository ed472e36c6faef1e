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

// Reads an element. Channels that the format lacks are 0, the fourth 1, as in graphics: the documentation of
// CUDA does not say.
Texel read_texel(const TexelFormat &format, bool is_srgb, const std::byte *from);

// Writes an element. Converts floats to normalized integers, and clamps integers to the range of the channel.
// PTX ISA, sust.p.
void write_texel(const TexelFormat &format, std::byte *to, const Texel &texel);

}  // namespace cushim::ptx::execute
