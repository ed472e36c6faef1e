// SPDX-License-Identifier: Apache-2.0
// Tests with PTX that nvcc generates.
#include <cushim/ptx/module.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace cushim::ptx {
namespace {

const std::filesystem::path sources = CUSHIM_PTX_COMPILED;

std::string content(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_kernels(const Module &module) {
  const Function *vadd = module.find_function("vadd");
  ASSERT_NE(vadd, nullptr);
  EXPECT_EQ(vadd->parameters.size(), 4u);
  EXPECT_EQ(vadd->performance.maxntid, (Dimensions{128, 1, 1}));
  const Variable *table = module.find_variable("table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->space, StateSpace::const_);
  EXPECT_EQ(table->initializer.size(), 16u);
  const Variable *functions = module.find_variable("fps");
  ASSERT_NE(functions, nullptr);
  EXPECT_EQ(functions->relocations.size(), 2u);
  EXPECT_TRUE(module.find_variable("man")->managed);
  EXPECT_TRUE(module.find_variable("sm")->unsized);
}

TEST(Compiled, ACommittedModuleIsParsed) {
  const ParseResult result = parse(content(sources / "kernels.ptx"));
  ASSERT_TRUE(result.ok()) << result.log();
  expect_kernels(result.module);
}

class CompiledNow : public ::testing::TestWithParam<const char *> {};

TEST_P(CompiledNow, TheOutputOfNvccIsParsed) {
  if (std::string_view(CUSHIM_NVCC).ends_with("NOTFOUND")) GTEST_SKIP() << "there is no nvcc";
  const auto output = std::filesystem::temp_directory_path() /
                      ("cushim_ptx_" + std::to_string(static_cast<long>(::getpid())) + ".ptx");
  const std::string command = std::string(CUSHIM_NVCC) + " -w -arch=sm_90 -ptx " + GetParam() + " '" +
                              (sources / "kernels.cu").string() + "' -o '" + output.string() + "'";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "nvcc failed: " << command;
  const std::string text = content(output);
  std::filesystem::remove(output);
  const ParseResult result = parse(text);
  ASSERT_TRUE(result.ok()) << result.log();
  expect_kernels(result.module);
}

INSTANTIATE_TEST_SUITE_P(Options, CompiledNow, ::testing::Values("", "-lineinfo", "-G", "-rdc=true"));

}  // namespace
}  // namespace cushim::ptx
