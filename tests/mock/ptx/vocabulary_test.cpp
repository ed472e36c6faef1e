// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/vocabulary.hpp>

#include <gtest/gtest.h>

namespace cushim::ptx {
namespace {

TEST(Vocabulary, EachOpcodeIsFoundByItsSpelling) {
  for (unsigned i = 0; i < static_cast<unsigned>(Opcode::count); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(find_opcode(spelling(opcode)), opcode);
  }
  EXPECT_FALSE(find_opcode("ad"));
  EXPECT_FALSE(find_opcode(""));
}

TEST(Vocabulary, EachModifierIsFoundByItsSpelling) {
  for (unsigned i = 0; i < static_cast<unsigned>(Modifier::count); ++i) {
    const auto modifier = static_cast<Modifier>(i);
    EXPECT_EQ(find_modifier(spelling(modifier)), modifier);
  }
  EXPECT_EQ(find_modifier("shared::cluster"), Modifier::shared_cluster);
}

TEST(Vocabulary, EachSpecialRegisterIsFoundByItsSpelling) {
  for (unsigned i = 0; i < static_cast<unsigned>(SpecialRegister::count); ++i) {
    const auto special = static_cast<SpecialRegister>(i);
    EXPECT_EQ(find_special(spelling(special)), special);
  }
  EXPECT_EQ(components(SpecialRegister::tid), 4u);
  EXPECT_EQ(type_of(SpecialRegister::clock64), Type::u64);
}

TEST(Vocabulary, ATypeIsAModifierAndHasWidthAndClass) {
  EXPECT_EQ(type_of(Modifier::s64), Type::s64);
  EXPECT_EQ(type_of(Modifier::ftz), Type::none);
  EXPECT_EQ(bits(Type::f16x2), 32u);
  EXPECT_EQ(bits(Type::b128), 128u);
  EXPECT_EQ(bits(Type::e4m3x4), 32u);
  EXPECT_EQ(bits(Type::bf16), 16u);
  EXPECT_EQ(bits(Type::e2m1x2), 8u);
  EXPECT_EQ(type_class(Type::bf16), TypeClass::floating);
  EXPECT_EQ(type_class(Type::u16x2), TypeClass::packed);
  EXPECT_EQ(type_class(Type::b32), TypeClass::untyped);
}

}  // namespace
}  // namespace cushim::ptx
