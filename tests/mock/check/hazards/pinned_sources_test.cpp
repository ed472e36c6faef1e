// SPDX-License-Identifier: Apache-2.0
// The rules for pinned memory that changes before a copy from it is complete.
#include "hazards_found.hpp"

namespace cushim::check {
namespace {

TEST_F(HazardsFound, Pinned_memory_that_changes_before_the_copy_is_known_to_be_done) {
  std::uint32_t *const words = copied_pinned_memory();
  words[0] = 2;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), Names{"pinned-source-changed"});
}

TEST_F(HazardsFound, Pinned_memory_that_changes_afterwards_is_not_a_hazard) {
  std::uint32_t *const words = copied_pinned_memory();
  need(driver().cuStreamSynchronize(a));
  words[0] = 2;
  need(driver().cuMemcpyDtoHAsync(words, memory, 256, a));
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));  // copies the values that the first copy writes
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Pinned_memory_may_be_filled_while_a_stream_waits_for_the_host) {
  std::uint32_t *const words = running.pinned(64), *const word = pinned_word_that_holds(a);
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
  words[0] = 2;
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

// A host function that changes its argument after the preceding copy.
void CUDA_CB change(void *words) { static_cast<std::uint32_t *>(words)[0] = 2; }
void CUDA_CB do_nothing(void *) {}

TEST_F(HazardsFound, A_host_function_enqueued_after_pinned_memory_changed_is_no_excuse) {
  for (const CUstream stream : {a, b}) {
    Hazards hazards(driver());
    std::uint32_t *const words = copied_pinned_memory();
    words[0] = 2;
    need(driver().cuLaunchHostFunc(stream, &do_nothing, nullptr));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuStreamSynchronize(a));
    ASSERT_EQ(hazards.finish().size(), 1u);
    EXPECT_EQ(hazards.finish()[0].rule, "pinned-source-changed");
  }
}

TEST_F(HazardsFound, A_host_function_on_an_unrelated_stream_is_no_excuse_for_changing_pinned_memory) {
  std::uint32_t *const words = copied_pinned_memory();
  need(driver().cuLaunchHostFunc(b, &do_nothing, nullptr));
  need(driver().cuStreamSynchronize(b));
  words[0] = 2;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), Names{"pinned-source-changed"});
}

TEST_F(HazardsFound, A_host_function_that_has_not_begun_is_no_excuse_for_changing_pinned_memory) {
  std::uint32_t *const words = copied_pinned_memory();
  need(driver().cuLaunchHostFunc(a, &do_nothing, nullptr));
  words[0] = 2;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), Names{"pinned-source-changed"});
}

// The launch is replaced by nothing: the test is about what the checker assumes of a kernel.
TEST_F(HazardsFound, A_kernel_launched_with_attributes_may_tell_the_host_that_pinned_memory_is_free) {
  const hook::Hook launch = hook::replace<Entry::cuLaunchKernelEx_v11060>(
      driver(), [](const auto &, auto...) { return CUDA_SUCCESS; });
  for (const bool has_kernel : {true, false}) {
    Hazards hazards(driver());
    std::uint32_t *const words = copied_pinned_memory();
    CUlaunchConfig configuration{};
    configuration.hStream = a;
    if (has_kernel) need(driver().cuLaunchKernelEx(&configuration, nullptr, nullptr, nullptr));
    words[0] = 2;
    need(driver().cuStreamSynchronize(a));
    EXPECT_EQ(hazards.finish().size(), has_kernel ? 0u : 1u);
  }
}

TEST_F(HazardsFound, Pinned_memory_may_change_in_a_host_function_after_the_copy) {
  std::uint32_t *const words = copied_pinned_memory();
  need(driver().cuLaunchHostFunc(a, &change, words));
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Pinned_memory_may_change_after_a_host_function_that_waited_for_the_copy) {
  std::uint32_t *const words = copied_pinned_memory();
  need(driver().cuEventRecord(event, a));
  need(driver().cuStreamWaitEvent(b, event, 0));
  need(driver().cuLaunchHostFunc(b, &change, words));
  need(driver().cuStreamSynchronize(b));
  words[0] = 3;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

// A copy from pinned memory. Tests whether a change before or after other work is found.
struct PinnedSource {
  PinnedSource() {
    model.memory_made(begin, sizeof words, MemoryKind::pinned, nullptr);
    model.work(one, {}, std::span(&use, 1), HazardModel::Host::goes_on);
  }
  std::size_t found() {
    model.host_learns(model.work_of_all());
    return findings.size();
  }
  std::uint32_t words[16] = {1};
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(words);
  const HazardModel::Use use{.extent = Extent::of(begin, sizeof words), .kind = Access::Kind::read};
  const StreamRef one{.handle = reinterpret_cast<CUstream>(0x10)},
      other{.handle = reinterpret_cast<CUstream>(0x20)};
  std::vector<Finding> findings;
  HazardModel model{[this](Finding finding) { findings.push_back(std::move(finding)); }};
};

TEST(HazardModel, Work_enqueued_after_a_pinned_source_changed_does_not_excuse_the_change) {
  PinnedSource kernel, word;
  kernel.words[0] = 2;
  kernel.model.unknown_work(kernel.one);
  EXPECT_EQ(kernel.found(), 1u);
  word.words[0] = 2;
  word.model.write_word(word.one, 0x1000);
  EXPECT_EQ(word.found(), 1u);
}

TEST(HazardModel, Work_after_a_copy_may_tell_the_host_that_its_pinned_source_is_free) {
  PinnedSource kernel, word;
  kernel.model.unknown_work(kernel.one);
  kernel.words[0] = 2;
  EXPECT_EQ(kernel.found(), 0u);
  word.model.write_word(word.one, 0x1000);
  word.words[0] = 2;
  EXPECT_EQ(word.found(), 0u);
}

TEST(HazardModel, A_word_written_by_an_unrelated_stream_does_not_excuse_a_change_of_a_pinned_source) {
  PinnedSource word;
  word.model.write_word(word.other, 0x1000);
  word.words[0] = 2;
  EXPECT_EQ(word.found(), 1u);
}

}  // namespace
}  // namespace cushim::check
