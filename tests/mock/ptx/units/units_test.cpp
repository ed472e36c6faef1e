// SPDX-License-Identifier: Apache-2.0
// Compares the special functions and the matrix instructions with the results of a GPU, which record.cpp
// wrote to data/.
#include "units.hpp"

#include <fstream>

#include "../execute.hpp"
#include "execute/special_functions.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

// The recorded results of one file, in the order in which record.cpp writes them.
class Recorded {
 public:
  explicit Recorded(const std::string &name) {
    std::ifstream file(std::string(CUSHIM_PTX_UNITS "/") + name, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    EXPECT_FALSE(bytes_.empty()) << name;
  }
  std::vector<std::uint8_t> take(std::size_t count) {
    EXPECT_LE(at_ + count, bytes_.size());
    if (at_ + count > bytes_.size()) return {};
    at_ += count;
    const auto *const from = reinterpret_cast<const std::uint8_t *>(bytes_.data()) + at_ - count;
    return {from, from + count};
  }
  std::uint32_t word() {
    std::uint32_t value = 0;
    const auto bytes = take(4);
    if (bytes.size() == 4) std::memcpy(&value, bytes.data(), 4);
    return value;
  }
  bool done() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

LaunchShape shape(std::uint32_t block, std::uint32_t grid = 1) {
  LaunchShape made;
  made.block.x = block;
  made.grid.x = grid;
  return made;
}

TEST(RecordedUnits, MmaGivesTheBitsOfTheGpu) {
  Recorded recorded("products.bin");
  for (const units::Product &product : units::products) {
    const auto [a, b, c] = units::inputs(product);
    Loaded loaded(units::text(product, testing::header));
    ASSERT_EQ(loaded.refused, "") << product.name;
    const std::size_t bytes = units::bytes(product, product.registers_d);
    const auto pa = loaded.memory.add(a), pb = loaded.memory.add(b), pc = loaded.memory.add(c),
               pd = loaded.memory.add(bytes);
    ASSERT_TRUE(loaded.run("k", shape(32, units::cases), pa, pb, pc, pd)) << product.name;
    EXPECT_EQ(loaded.memory.get<std::uint8_t>(pd, bytes), recorded.take(bytes)) << product.name;
  }
  EXPECT_TRUE(recorded.done());
}

TEST(RecordedUnits, WmmaLoadsElementsIntoTheRegistersOfTheGpu) {
  Recorded recorded("fragments.bin");
  for (const units::Fragment &fragment : units::fragments()) {
    Loaded loaded(units::text(fragment, testing::header));
    ASSERT_EQ(loaded.refused, "") << fragment.shape;
    const std::size_t bytes = 32 * std::size_t(fragment.registers * units::register_bytes(fragment));
    const auto from = loaded.memory.add(units::elements(fragment)), to = loaded.memory.add(bytes);
    ASSERT_TRUE(loaded.run("k", shape(32), from, to));
    EXPECT_EQ(loaded.memory.get<std::uint8_t>(to, bytes), recorded.take(bytes))
        << fragment.shape << " " << fragment.matrix << " " << fragment.type;
  }
  EXPECT_TRUE(recorded.done());
}

float (*implementation(std::string_view instruction))(float) {
  const std::string_view name = instruction.substr(0, instruction.find('.'));
  return name == "rcp"     ? execute::reciprocal
         : name == "rsqrt" ? execute::inverse_square_root
         : name == "sqrt"  ? execute::square_root
         : name == "ex2"   ? execute::exponential
         : name == "lg2"   ? execute::logarithm
         : name == "sin"   ? execute::sine
         : name == "cos"   ? execute::cosine
                           : execute::hyperbolic_tangent;
}

TEST(RecordedUnits, SpecialFunctionsGiveTheBitsOfTheGpu) {
  Recorded recorded("functions.bin");
  for (const units::Function &function : units::functions()) {
    const auto compute = implementation(function.instruction);
    for (const int exponent : function.exponents)
      for (std::uint32_t block = 0; block < units::blocks; block += units::block_step) {
        std::uint32_t sum = units::first_hash;
        for (std::uint32_t i = 0; i < units::block_size; ++i) {
          const std::uint32_t bits =
              static_cast<std::uint32_t>(127 + exponent) << 23 | (block * units::block_size + i);
          sum = units::hash(sum, std::bit_cast<std::uint32_t>(compute(std::bit_cast<float>(bits))));
        }
        EXPECT_EQ(sum, recorded.word())
            << function.instruction << " exponent " << exponent << " block " << block;
      }
    const std::vector<std::uint32_t> arguments = units::arguments();
    for (const std::string &instruction :
         {std::string{function.instruction}, units::without_ftz(function.instruction)}) {
      if (instruction.empty()) continue;
      Loaded loaded(units::text(std::string_view{instruction}, testing::header));
      ASSERT_EQ(loaded.refused, "");
      const auto from = loaded.memory.add(arguments), to = loaded.memory.add(arguments.size() * 4);
      ASSERT_TRUE(loaded.run("k", shape(256, static_cast<std::uint32_t>(arguments.size() / 256)), from, to));
      const auto results = loaded.memory.get<std::uint32_t>(to, arguments.size());
      for (std::size_t i = 0; i < arguments.size(); ++i)
        EXPECT_EQ(results[i], recorded.word()) << instruction << " " << std::hex << arguments[i];
    }
  }
  EXPECT_TRUE(recorded.done());
}

}  // namespace
}  // namespace cushim::ptx
