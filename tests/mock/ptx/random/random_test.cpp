// SPDX-License-Identifier: Apache-2.0
// Compares tables of all instruction forms, and random programs, with the results of an H200 (driver
// 580.159), whose hashes record.cpp wrote to data/.
#include <fstream>
#include <iterator>

#include "run.hpp"

namespace cushim::ptx::random {
namespace {

std::vector<std::uint32_t> recorded(const std::string &name) {
  std::ifstream file(std::string(CUSHIM_PTX_RANDOM "/") + name, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  return words;
}

// Returns why the results of a form are not those of the GPU; empty if they must be.
std::string_view known_difference(std::string_view body) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"shared.add.noftz.f16x2", "ptxas takes the upper half of the operand from another register"},
      {"shared.add.noftz.bf16x2", "ptxas takes the upper half of the operand from another register"},
  };
  for (const auto &[text, reason] : kKnown)
    if (body.find(text) != body.npos) return reason;
  return {};
}

TEST(RandomKernels, HaveTheResultsOfAnH200InEachForm) {
  const std::vector<Form> all = forms();
  const std::vector<std::uint32_t> wanted = recorded("tables.bin");
  ASSERT_EQ(wanted.size(), all.size());
  const auto inputs = table_inputs();
  constexpr std::size_t kForms = 128;  // of a module
  constexpr std::size_t kStep = kForms * (testing::kFindsRaces ? 16 : test::kHasAddressSanitizer ? 4 : 1);
  for (std::size_t first = 0; first < all.size(); first += kStep) {
    const auto part = std::span(all).subspan(first, std::min(kForms, all.size() - first));
    const Batch batch = table(part);
    const Outputs made = run(batch, {inputs});
    ASSERT_EQ(made.refused, "");
    std::size_t form = first;
    for (std::size_t kernel = 0; kernel < batch.kernels.size(); ++kernel) {
      const std::size_t bytes = batch.kernels[kernel].output_bytes;
      for (std::size_t i = 0; i < batch.kernels[kernel].outputs; ++i, ++form) {
        if (!known_difference(all[form].body).empty()) continue;
        EXPECT_EQ(hash(made.kernels[kernel].data() + i * bytes, bytes), wanted[form]) << all[form].body;
      }
    }
  }
}

// 7,968 of the 8,000 programs of the recording have its results; docs/reference/simulator.md tells why the
// others differ.
TEST(RandomKernels, HaveTheResultsOfAnH200In995OutOf1000Programs) {
  const std::vector<std::uint32_t> wanted = recorded("programs.bin");
  ASSERT_EQ(wanted.size(), 8000u);
  constexpr std::size_t kPrograms = testing::kFindsRaces ? 200 : 1000, kOfModule = 20;
  std::size_t equal = 0;
  for (std::size_t first = 0; first < kPrograms; first += kOfModule) {
    std::vector<std::vector<std::uint64_t>> inputs;
    for (std::size_t i = 0; i < kOfModule; ++i) inputs.push_back(program_inputs_of(first + i));
    const Outputs made = run(programs(first, kOfModule), inputs);
    ASSERT_EQ(made.refused, "");
    for (std::size_t i = 0; i < kOfModule; ++i)
      equal += hash(made.kernels[i].data(), made.kernels[i].size()) == wanted[first + i];
  }
  EXPECT_GE(equal * 1000, kPrograms * 995) << equal << " of " << kPrograms;
}

}  // namespace
}  // namespace cushim::ptx::random
