// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// The textures and surfaces that kernels read and write, as the owner of the memory describes them.
namespace cushim::ptx {

// The type of a channel in memory.
enum class ChannelType : std::uint8_t { u8, s8, u16, s16, u32, s32, f16, f32 };

// Returns the size in bytes of a channel.
constexpr unsigned bytes_of(ChannelType type) {
  return type <= ChannelType::s8 ? 1 : type <= ChannelType::s16 || type == ChannelType::f16 ? 2 : 4;
}

// The type of an element of a texture or surface (a texel).
struct TexelFormat {
  ChannelType type = ChannelType::f32;
  std::uint8_t channels = 1;   // 1, 2 or 4
  bool is_normalized = false;  // integers of 8 or 16 bits that stand for floats in [0, 1] or [-1, 1]

  // Returns the size in bytes of an element.
  unsigned bytes() const { return bytes_of(type) * channels; }
};

// The memory of a sparse image. Several threads use it at the same time.
class SparseMemory {
 public:
  virtual ~SparseMemory() = default;
  // Returns the memory of the element that begins at byte `x` of a row; null if it has no memory.
  virtual std::byte *at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const = 0;
};

// The elements of an array, of one level of a mipmapped array, or of linear memory. Rows follow each other
// at a distance of `row_bytes`, slices and layers at a distance of `slice_bytes`. Where no memory is mapped,
// reads return 0, and writes have no effect.
struct Image {
  std::byte *host = nullptr;                     // null: no memory, or sparse memory
  std::shared_ptr<const SparseMemory> sparse{};  // null: the image is not sparse
  // In elements. An extent that the image does not have is 1.
  std::uint32_t width = 1, height = 1;
  std::uint32_t depth = 1;  // slices, or layers; six layers are a cubemap
  bool has_depth = true;    // false: queries return a depth of 0
  std::uint64_t row_bytes = 0, slice_bytes = 0;

  bool has_memory() const { return host != nullptr || sparse != nullptr; }
  // Returns the memory of the element that begins at byte `x` of a row; null if there is none.
  std::byte *at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    if (sparse != nullptr) return sparse->at(x, y, z);
    return host != nullptr ? host + z * slice_bytes + y * row_bytes + x : nullptr;
  }
};

// How coordinates outside an image are treated.
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

// How a texture is read. CUDA Programming Guide, "Texture Fetching".
struct Sampler {
  std::array<AddressMode, 3> address{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  bool is_linear = false;           // interpolates between elements; otherwise the nearest element
  bool is_linear_in_level = false;  // interpolates between mipmap levels
  bool is_normalized = false;       // coordinates are in [0, 1) instead of [0, extent)
  bool is_seamless = false;         // linear filters of cubemaps interpolate across edges of faces
  bool is_srgb = false;             // converts the colors of 8-bit unsigned channels from sRGB
  float level_bias = 0, min_level = 0, max_level = 0;
  std::array<std::uint32_t, 4> border{};  // bits of floats or integers, as the texture's elements are read
};

// A texture: levels of images, and how they are read.
struct Texture {
  TexelFormat format;
  std::vector<Image> levels;  // at least one
  Sampler sampler;
  bool is_linear_memory = false;  // coordinates outside it read 0
};

// A surface: an image that kernels read and write by coordinates in bytes and rows.
struct Surface {
  TexelFormat format;
  Image image;
};

}  // namespace cushim::ptx
