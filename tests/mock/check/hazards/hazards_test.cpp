// SPDX-License-Identifier: Apache-2.0
// The rules of the hazard checker, one by one, and the operations that it counts as happens-before.
#include <gtest/gtest.h>
#include <cushim/check/hazards.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/sim/machine.hpp>

#include <thread>

#include "hazards/hazard_model.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::check {
namespace {

using sim::need;
using sim::Running;

class HazardsFound : public ::testing::Test {
 protected:
  // Returns the violated rules, in the order of their first violation.
  std::vector<std::string> rules() {
    std::vector<std::string> names;
    for (const Finding &finding : checker.finish()) names.push_back(finding.rule);
    return names;
  }
  std::string words() {
    std::string all;
    for (const Finding &finding : checker.finish()) all += finding.to_text();
    return all;
  }

  const Running running{{.schedule = sim::Schedule::deferred}};
  Hazards checker{driver()};
  const CUstream a = running.stream(), b = running.stream();
  const CUevent event = running.event();
  const CUdeviceptr memory = running.memory(), other = running.memory();
};

using Names = std::vector<std::string>;
const Names kNone;
const Names kUnordered{"unordered"};

TEST_F(HazardsFound, A_report_names_streams_bytes_calls_and_the_missing_edge) {
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuMemcpyDtoDAsync(other, memory + 50, 100, b));
  const std::vector<Finding> findings = checker.finish();
  ASSERT_EQ(findings.size(), 1u);
  const Finding &found = findings[0];
  const std::string text = found.to_text();
  EXPECT_EQ(found.checker, "hazards");
  EXPECT_NE(text.find("stream 2 ("), text.npos) << text;
  EXPECT_NE(text.find(") reads memory that stream 1 ("), text.npos) << text;
  EXPECT_NE(text.find(") writes: 50 bytes from 0x"), text.npos) << text;
  EXPECT_NE(text.find("of device memory"), text.npos) << text;
  ASSERT_EQ(found.calls.size(), 2u);
  EXPECT_EQ(found.calls[0].role, "written by");
  EXPECT_EQ(found.calls[0].text.substr(0, 27), "cuMemsetD8Async in stream 1");
  EXPECT_EQ(found.calls[1].role, "read by");
  EXPECT_EQ(found.calls[1].text.substr(0, 32), "cuMemcpyDtoDAsync_v2 in stream 2");
  for (const Finding::Call &call : found.calls) EXPECT_FALSE(call.call_stack.frames().empty());
  EXPECT_EQ(found.advice.substr(0, 26), "record an event on stream ") << text;
  EXPECT_NE(found.advice.find("after cuMemsetD8Async and let stream 2"), text.npos) << text;
}

TEST_F(HazardsFound, An_event_that_nobody_waits_for_is_named) {
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuEventRecord(event, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_NE(words().find("event 1 ("), std::string::npos);
  EXPECT_NE(words().find("was recorded on stream 1"), std::string::npos);
}

TEST_F(HazardsFound, An_event_that_was_recorded_too_early_is_named) {
  need(driver().cuEventRecord(event, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuStreamWaitEvent(b, event, 0));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_NE(words().find(", which was recorded before that"), std::string::npos) << words();
}

TEST_F(HazardsFound, Waits_of_the_host_are_order) {
  const std::function<void()> waits[] = {
      [&] { need(driver().cuStreamSynchronize(a)); },
      [&] { need(driver().cuCtxSynchronize()); },
      [&] {
        need(driver().cuEventRecord(event, a));
        need(driver().cuEventSynchronize(event));
      },
      [&] {
        while (driver().cuStreamQuery(a) != CUDA_SUCCESS) const_cast<sim::Machine &>(running.machine).run();
      },
      [&] {
        need(driver().cuEventRecord(event, a));
        while (driver().cuEventQuery(event) != CUDA_SUCCESS)
          const_cast<sim::Machine &>(running.machine).run();
      },
      [&] { need(driver().cuMemFree(running.memory())); },
  };
  for (const auto &wait : waits) {
    need(driver().cuMemsetD8Async(memory, 1, 100, a));
    wait();
    need(driver().cuMemsetD8Async(memory, 1, 100, b));
    need(driver().cuStreamSynchronize(b));
  }
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_query_that_is_not_ready_is_no_order) {
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  const CUresult answer = driver().cuStreamQuery(a);
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), answer == CUDA_SUCCESS ? kNone : kUnordered);
}

TEST_F(HazardsFound, A_copy_that_the_host_waits_for_is_order) {
  std::uint32_t word = 0;
  need(driver().cuMemcpyHtoD(memory, &word, sizeof word));
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  need(driver().cuMemcpyDtoHAsync(&word, memory, 4, a));  // pageable: waits
  need(driver().cuMemsetD8Async(memory, 1, 4, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_set_on_the_legacy_stream_is_none_for_a_non_blocking_stream) {
  need(driver().cuMemsetD8(memory, 1, 4));
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, A_stream_made_before_the_checker_is_known_for_what_it_is) {
  const CUstream blocking = running.stream(CU_STREAM_DEFAULT);
  Hazards late(driver());
  need(driver().cuMemsetD8(memory, 1, 4));
  need(driver().cuMemsetD8Async(memory, 1, 4, blocking));
  EXPECT_TRUE(late.finish().empty());
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  EXPECT_EQ(late.finish().size(), 1u);
}

TEST_F(HazardsFound, A_word_that_streams_write_and_wait_for_is_order) {
  const CUdeviceptr word = running.memory();
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuStreamWaitValue32(b, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_word_may_be_waited_for_before_it_is_written) {
  const CUdeviceptr word = running.memory();
  need(driver().cuMemsetD32(word, 0, 1));
  need(driver().cuCtxSynchronize());
  need(driver().cuStreamWaitValue32(b, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_word_that_is_written_before_the_use_is_no_order) {
  const CUdeviceptr word = running.memory();
  need(driver().cuMemsetD32(word, 0, 1));
  need(driver().cuCtxSynchronize());
  need(driver().cuStreamWaitValue32(b, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, The_host_may_let_a_stream_go_on_when_another_is_done) {
  std::uint32_t *const word = running.pinned();
  *word = 0;
  need(driver().cuStreamWaitValue32(a, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuStreamSynchronize(b));
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, It_is_no_order_if_the_host_did_not_wait_for_the_other) {
  std::uint32_t *const word = running.pinned();
  *word = 0;
  need(driver().cuStreamWaitValue32(a, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, A_host_function_that_has_returned_tells_the_host) {
  std::atomic<bool> is_done{false};
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuLaunchHostFunc(
      a, [](void *data) { *static_cast<std::atomic<bool> *>(data) = true; }, &is_done));
  need(driver().cuStreamSynchronize(a));
  EXPECT_TRUE(is_done) << "the program's own function was called";
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Pinned_memory_that_changes_before_the_copy_is_known_to_be_done) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
  words[0] = 2;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), Names{"pinned-source-changed"});
}

TEST_F(HazardsFound, Pinned_memory_that_changes_afterwards_is_no_hazard) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
  need(driver().cuStreamSynchronize(a));
  words[0] = 2;
  need(driver().cuMemcpyDtoHAsync(words, memory, 256, a));
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));  // copies the values that the first copy writes
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Pinned_memory_may_be_filled_while_a_stream_waits_for_the_host) {
  std::uint32_t *const words = running.pinned(64), *const word = running.pinned();
  *word = 0;
  need(driver().cuStreamWaitValue32(a, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
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
    std::uint32_t *const words = running.pinned(64);
    words[0] = 1;
    need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
    words[0] = 2;
    need(driver().cuLaunchHostFunc(stream, &do_nothing, nullptr));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuStreamSynchronize(a));
    ASSERT_EQ(hazards.finish().size(), 1u);
    EXPECT_EQ(hazards.finish()[0].rule, "pinned-source-changed");
  }
}

TEST_F(HazardsFound, A_host_function_on_an_unrelated_stream_is_no_excuse_for_changing_pinned_memory) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
  need(driver().cuLaunchHostFunc(b, &do_nothing, nullptr));
  need(driver().cuStreamSynchronize(b));
  words[0] = 2;
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), Names{"pinned-source-changed"});
}

TEST_F(HazardsFound, A_host_function_that_has_not_begun_is_no_excuse_for_changing_pinned_memory) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
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
    std::uint32_t *const words = running.pinned(64);
    words[0] = 1;
    need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
    CUlaunchConfig configuration{};
    configuration.hStream = a;
    if (has_kernel) need(driver().cuLaunchKernelEx(&configuration, nullptr, nullptr, nullptr));
    words[0] = 2;
    need(driver().cuStreamSynchronize(a));
    EXPECT_EQ(hazards.finish().size(), has_kernel ? 0u : 1u);
  }
}

TEST_F(HazardsFound, Pinned_memory_may_change_in_a_host_function_after_the_copy) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
  need(driver().cuLaunchHostFunc(a, &change, words));
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Pinned_memory_may_change_after_a_host_function_that_waited_for_the_copy) {
  std::uint32_t *const words = running.pinned(64);
  words[0] = 1;
  need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
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

// The simulated driver returns an error for such a call; a real driver need not.
TEST(HazardModel, Memory_that_is_used_after_it_was_freed_in_stream_order) {
  std::vector<Finding> findings;
  HazardModel model([&](Finding finding) { findings.push_back(std::move(finding)); });
  const StreamRef stream{.handle = reinterpret_cast<CUstream>(0x10)};
  const HazardModel::Use use{.extent = Extent::of(1000, 8), .kind = Access::Kind::read};
  model.memory_made_in_order(1000, 64, stream, {});
  model.work(stream, {}, std::span(&use, 1), HazardModel::Host::waits);
  model.memory_freed_in_order(1000, stream, {});
  EXPECT_TRUE(findings.empty());
  model.work(stream, {}, std::span(&use, 1), HazardModel::Host::waits);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "use-after-free");
  EXPECT_EQ(findings[0].advice.substr(0, 26), "free it after its last use");
  model.memory_made_in_order(1000, 64, stream, {});
  model.work(stream, {}, std::span(&use, 1), HazardModel::Host::waits);
  EXPECT_EQ(findings.size(), 1u) << "it is other memory";
}

TEST(HazardModel, What_is_captured_is_not_done) {
  std::vector<Finding> findings;
  HazardModel model([&](Finding finding) { findings.push_back(std::move(finding)); });
  const StreamRef one{.handle = reinterpret_cast<CUstream>(0x10)},
      other{.handle = reinterpret_cast<CUstream>(0x20)};
  const HazardModel::Use use{.extent = Extent::of(1000, 8), .kind = Access::Kind::write};
  model.capture_began();
  model.work(one, {}, std::span(&use, 1), HazardModel::Host::goes_on);
  model.capture_ended();
  model.work(other, {}, std::span(&use, 1), HazardModel::Host::goes_on);
  EXPECT_TRUE(findings.empty());
  model.work(one, {}, std::span(&use, 1), HazardModel::Host::goes_on);
  EXPECT_EQ(findings.size(), 1u);
}

TEST_F(HazardsFound, Memory_freed_while_another_stream_uses_it) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, 64, a));
  need(driver().cuEventRecord(event, a));
  need(driver().cuStreamWaitEvent(b, event, 0));
  need(driver().cuMemsetD8Async(pool, 1, 64, b));
  need(driver().cuMemFreeAsync(pool, a));
  EXPECT_EQ(rules(), Names{"free-while-used"});
}

TEST_F(HazardsFound, Memory_freed_in_stream_order_and_used_by_another_stream) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, 64, a));
  need(driver().cuStreamSynchronize(a));
  need(driver().cuMemFreeAsync(pool, a));
  EXPECT_EQ(driver().cuMemcpyDtoDAsync(memory, pool + 8, 8, b), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(rules(), Names{"use-after-free"});
  EXPECT_NE(words().find("reads memory that stream 1"), std::string::npos) << words();
  EXPECT_NE(words().find("has freed: 8 bytes from 0x"), std::string::npos) << words();
}

TEST_F(HazardsFound, A_call_that_is_refused_for_another_reason_uses_nothing) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, 64, a));
  EXPECT_NE(driver().cuMemsetD8Async(0x10, 1, 64, b), CUDA_SUCCESS);
  EXPECT_NE(driver().cuMemcpy2DAsync(nullptr, b), CUDA_SUCCESS);
  need(driver().cuMemFreeAsync(pool, a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Memory_used_before_its_allocation) {
  CUdeviceptr pool = 0;
  need(driver().cuMemAllocAsync(&pool, 64, a));
  need(driver().cuMemsetD8Async(pool, 1, 64, b));
  EXPECT_EQ(rules(), Names{"use-before-allocation"});
  EXPECT_NE(words().find("let stream 2"), std::string::npos) << words();
}

TEST_F(HazardsFound, Nothing_is_left_of_memory_that_is_gone) {
  const CUdeviceptr first = running.memory();
  need(driver().cuMemsetD8Async(first, 1, 64, a));
  need(driver().cuMemFree(first));
  const CUdeviceptr second = running.memory();
  need(driver().cuMemsetD8Async(second, 1, 64, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, The_same_places_again_are_counted) {
  const volatile int rounds = 5;  // volatile: an unrolled loop would have five call sites
  for (int round = 0; round < rounds; ++round) {
    need(driver().cuMemsetD8Async(memory, 1, 64, a));
    need(driver().cuMemsetD8Async(memory, 1, 64, b));
    need(driver().cuCtxSynchronize());
  }
  const auto findings = checker.finish();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 5u);
}

TEST_F(HazardsFound, Threads_with_streams_of_their_own_raise_no_alarm) {
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  const std::vector<CUstream> streams{a, b, running.stream()};
  std::vector<std::thread> threads;
  for (const CUstream stream : streams)
    threads.emplace_back([&, stream] {
      need(driver().cuCtxSetCurrent(context));
      const CUdeviceptr own = running.memory();
      const CUevent done = running.event();
      for (int round = 0; round < 100; ++round) {
        need(driver().cuMemsetD8Async(own, 1, 64, stream));
        need(driver().cuEventRecord(done, stream));
        need(driver().cuEventSynchronize(done));
        need(driver().cuMemsetD8Async(own, 1, 64, CU_STREAM_PER_THREAD));
        need(driver().cuStreamSynchronize(CU_STREAM_PER_THREAD));
        need(driver().cuLaunchHostFunc(
            stream, [](void *) {}, nullptr));
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(rules(), kNone);
}

}  // namespace
}  // namespace cushim::check
