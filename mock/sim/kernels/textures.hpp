// SPDX-License-Identifier: Apache-2.0
// The textures and surfaces of a launch.
#pragma once

#include <cushim/ptx/textures.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>

#include "objects/texture.hpp"

namespace cushim::sim {

struct System;

// The references of a module as a launch finds them, by handle. Later calls may bind them to other memory.
struct BoundReferences {
  std::map<std::uint64_t, TextureSource> textures;
  std::map<std::uint64_t, CUarray> surfaces;
};
BoundReferences references_of(const Module &module);

// Returns an enumeration as a number, because the program may have set an invalid value.
template <class Enum>
unsigned number_of(const Enum &value) {
  unsigned number;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// Returns the format of elements for kernels. Empty for other numbers of channels than 1, 2 and 4, and for
// compressed and packed formats, which kernels of the simulated driver do not read. `flags` are those of a
// texture (CU_TRSF_*).
std::optional<ptx::TexelFormat> texel_format(CUarray_format format, unsigned channels, unsigned flags);
// The same for a view of an array with another format.
std::optional<ptx::TexelFormat> texel_format(CUresourceViewFormat format, unsigned flags);

// Return what kernels of a context read and write. Empty if the memory has been freed, or if the context
// cannot access it. The caller holds the machine's lock.
std::optional<ptx::Texture> texture_of(System &system, Context &context, const TextureSource &source);
std::optional<ptx::Surface> surface_of(System &system, Context &context, CUarray array);

}  // namespace cushim::sim
