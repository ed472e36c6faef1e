// SPDX-License-Identifier: Apache-2.0
// Runs kernels whose results were recorded on an H200 (driver 580.159.04): sparse products of matrices, and
// fetches of textures. Each file in data/ has PTX, inputs and textures of launches, and a hash of the bytes
// that each of them wrote.
#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>

#include "../execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads little-endian words and bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T get() {
    T value{};
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint32_t word() { return get<std::uint32_t>(); }
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view rest_;
};

ChannelType channel_type(std::uint32_t array_format) {
  static const std::map<std::uint32_t, ChannelType> types{
      {1, ChannelType::u8},  {2, ChannelType::u16},   {3, ChannelType::u32},    {8, ChannelType::s8},
      {9, ChannelType::s16}, {0xa, ChannelType::s32}, {0x10, ChannelType::f16}, {0x20, ChannelType::f32}};
  return types.at(array_format);
}

using Images = std::deque<std::vector<std::byte>>;

// The arguments of cuArray3DCreate and cuTexObjectCreate.
Texture read_texture(Reader &reader, const std::vector<std::string_view> &blobs, Images &images) {
  constexpr std::uint32_t layered_or_cube = 1 | 4, integers = 1, normalized = 2, srgb = 0x10, seamless = 0x40;
  constexpr AddressMode modes[] = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror,
                                   AddressMode::border};
  Texture texture;
  const std::uint32_t width = reader.word(), height = reader.word(), depth = reader.word(),
                      array_flags = reader.word(), format = reader.word();
  texture.format = {channel_type(format), static_cast<std::uint8_t>(reader.word()), false};
  const std::uint32_t levels = reader.word();
  for (AddressMode &mode : texture.sampler.address) mode = modes[reader.word()];
  texture.sampler.is_linear = reader.word() != 0;
  const std::uint32_t flags = reader.word();
  const bool is_small_integer = format == 1 || format == 2 || format == 8 || format == 9;
  texture.format.is_normalized = is_small_integer && (flags & integers) == 0;
  texture.sampler.is_normalized = (flags & normalized) != 0;
  texture.sampler.is_srgb = (flags & srgb) != 0;
  texture.sampler.is_seamless = (flags & seamless) != 0;
  reader.word();  // the largest anisotropy
  texture.sampler.is_linear_in_level = reader.word() != 0;
  texture.sampler.level_bias = reader.get<float>();
  texture.sampler.min_level = reader.get<float>();
  texture.sampler.max_level = reader.get<float>();
  for (std::uint32_t &word : texture.sampler.border) word = reader.word();
  for (std::uint32_t level = 0; level < std::max(levels, 1u); ++level) {
    Image image;
    image.width = std::max(width >> level, 1u);
    image.height = std::max(height >> level, 1u);
    image.depth = std::max((array_flags & layered_or_cube) != 0 ? depth : depth >> level, 1u);
    image.row_bytes = std::uint64_t{image.width} * texture.format.bytes();
    image.slice_bytes = image.row_bytes * image.height;
    const std::string_view repeated = blobs[reader.word()];
    std::vector<std::byte> &all = images.emplace_back(image.slice_bytes * image.depth);
    std::size_t filled = std::min(repeated.size(), all.size());
    std::memcpy(all.data(), repeated.data(), filled);
    for (; filled < all.size(); filled = std::min(2 * filled, all.size()))
      std::memcpy(all.data() + filled, all.data(), std::min(filled, all.size() - filled));
    image.host = all.data();
    texture.levels.push_back(image);
  }
  return texture;
}

std::uint64_t hash(const std::byte *bytes, std::size_t count) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < count; ++i)
    sum = (sum ^ std::to_integer<std::uint64_t>(bytes[i])) * 0x100000001b3;
  return sum;
}

class RecordedLaunches : public ::testing::TestWithParam<const char *> {};

TEST_P(RecordedLaunches, GiveTheBytesOfTheGpu) {
  const std::string file = contents(std::string{CUSHIM_PTX_LAUNCHES "/"} + GetParam() + ".bin");
  ASSERT_FALSE(file.empty());
  Reader reader(file);
  std::vector<std::string_view> blobs(reader.word());
  for (std::string_view &blob : blobs) blob = reader.bytes(reader.word());
  const std::uint32_t launches = reader.word();
  ASSERT_GT(launches, 50u);
  for (std::uint32_t i = 0; i < launches; ++i) {
    const std::string name{reader.bytes(reader.word())};
    Loaded loaded(blobs[reader.word()]);
    ASSERT_EQ(loaded.refused, "") << name;
    Images images;
    LaunchShape shape;
    shape.grid.x = reader.word();
    shape.block.x = reader.word();
    shape.dynamic_shared_bytes = reader.word();
    const std::uint32_t bytes = reader.word();
    // The parameters: results, inputs, texture.
    std::array<std::uint64_t, 7> parameters{loaded.memory.add(bytes)};
    const std::uint32_t inputs = reader.word();
    for (std::uint32_t k = 0; k < inputs; ++k) {
      const std::string_view blob = blobs[reader.word()];
      parameters.at(1 + k) = loaded.memory.add(std::vector<char>(blob.begin(), blob.end()));
    }
    if (reader.word() != 0) {
      constexpr std::uint64_t handle = 0x1234;
      loaded.memory.textures[handle] = read_texture(reader, blobs, images);
      parameters.at(1 + inputs) = handle;
    }
    const auto wanted = reader.get<std::uint64_t>();
    const auto [a, b, c, d, e, f, g] = parameters;
    const LaunchResult result = loaded.run("k", shape, a, b, c, d, e, f, g);
    ASSERT_TRUE(result) << name << " " << ptx::name(result.fault.kind) << " " << result.fault.message;
    EXPECT_EQ(hash(loaded.memory.host(a), bytes), wanted) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, RecordedLaunches,
                         ::testing::Values("gradients", "integer_textures", "sparse", "textures"),
                         [](const auto &file) { return std::string{file.param}; });

}  // namespace
}  // namespace cushim::ptx
