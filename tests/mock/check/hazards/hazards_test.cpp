// SPDX-License-Identifier: Apache-2.0
// The rules of the hazard checker, one by one, and the operations that it counts as happens-before.
#include <thread>

#include "hazards_found.hpp"
#include "support/mapped_memory.hpp"

namespace cushim::check {
namespace {

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

TEST_F(HazardsFound, An_event_that_no_stream_waits_for_is_named) {
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

// Physical memory of two granules, and its mappings.
struct Physical {
  static constexpr std::size_t kGranule = 2 << 20;

  Physical() {
    const CUmemAllocationProp properties = test::device_memory();
    need(driver().cuMemCreate(&memory, 2 * kGranule, &properties, 0));
  }
  CUdeviceptr map() const { return test::map(memory, 2 * kGranule); }

  CUmemGenericAllocationHandle memory = 0;
};

TEST_F(HazardsFound, Two_mappings_of_one_memory_are_the_same_bytes) {
  const Physical physical;
  const CUdeviceptr one = physical.map(), other = physical.map();
  need(driver().cuMemsetD8Async(one, 1, 100, a));
  need(driver().cuMemsetD8Async(other + 50, 1, 100, b));
  EXPECT_EQ(rules(), kUnordered);
}
// The model of a program that writes to two addresses in two streams, without order between them.
class TwoWrites {
 public:
  void map(std::uint64_t begin, std::uint64_t size, std::uint64_t offset) {
    model.memory_mapped({.begin = begin, .size = size, .physical = 7, .offset = offset}, nullptr);
  }
  // Returns the number of findings.
  std::size_t findings(CUstream a, std::uint64_t one, CUstream b, std::uint64_t other) {
    for (const auto &[stream, address] : {std::pair(a, one), std::pair(b, other)}) {
      model.streams().made(stream, nullptr, false);
      const HazardModel::Use use{.extent = Extent::of(address, 64), .kind = Access::Kind::write};
      model.work({.handle = stream}, {}, std::span(&use, 1), HazardModel::Host::goes_on);
    }
    model.finish();
    return count_;
  }

 private:
  std::size_t count_ = 0;

 public:
  HazardModel model{[this](const Finding &) { ++count_; }};
};

TEST_F(HazardsFound, Two_mappings_of_different_parts_are_different_bytes) {
  TwoWrites two;
  two.map(0x10000, 0x1000, 0);
  two.map(0x30000, 0x2000, 0);
  EXPECT_EQ(two.findings(a, 0x10000, b, 0x31000), 0u);
}
TEST_F(HazardsFound, A_mapping_of_a_part_is_the_same_bytes_as_that_part) {
  TwoWrites two;
  two.map(0x30000, 0x1000, 0x1000);
  two.map(0x10000, 0x3000, 0);
  EXPECT_EQ(two.findings(a, 0x30020, b, 0x11000), 1u);
}
TEST_F(HazardsFound, A_handle_of_new_memory_is_not_the_memory_that_it_named_before) {
  TwoWrites two;
  two.map(0x10000, 0x1000, 0);
  two.model.physical_memory_made(7);
  two.map(0x30000, 0x1000, 0);
  EXPECT_EQ(two.findings(a, 0x10000, b, 0x30000), 0u);
}
TEST_F(HazardsFound, Unmapped_addresses_are_forgotten) {
  const Physical physical, another;
  const CUdeviceptr one = physical.map(), other = physical.map();
  need(driver().cuMemsetD8Async(other, 1, 100, a));
  need(driver().cuMemUnmap(one, 2 * Physical::kGranule));
  need(driver().cuMemMap(one, 2 * Physical::kGranule, 0, another.memory, 0));
  const CUmemAccessDesc access = test::full_access();
  need(driver().cuMemSetAccess(one, 2 * Physical::kGranule, &access, 1));
  need(driver().cuMemsetD8Async(one, 1, 100, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Waits_of_the_host_order_work) {
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

TEST_F(HazardsFound, A_query_that_is_not_ready_orders_nothing) {
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  const CUresult answer = driver().cuStreamQuery(a);
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), answer == CUDA_SUCCESS ? kNone : kUnordered);
}

TEST_F(HazardsFound, A_copy_that_the_host_waits_for_orders_work) {
  std::uint32_t word = 0;
  need(driver().cuMemcpyHtoD(memory, &word, sizeof word));
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  need(driver().cuMemcpyDtoHAsync(&word, memory, 4, a));  // pageable: waits
  need(driver().cuMemsetD8Async(memory, 1, 4, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_memset_on_the_legacy_stream_does_not_order_a_non_blocking_stream) {
  need(driver().cuMemsetD8(memory, 1, 4));
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, A_stream_older_than_the_checker_is_recognized) {
  const CUstream blocking = running.stream(CU_STREAM_DEFAULT);
  Hazards late(driver());
  need(driver().cuMemsetD8(memory, 1, 4));
  need(driver().cuMemsetD8Async(memory, 1, 4, blocking));
  EXPECT_TRUE(late.finish().empty());
  need(driver().cuMemsetD8Async(memory, 1, 4, a));
  EXPECT_EQ(late.finish().size(), 1u);
}

TEST_F(HazardsFound, A_word_that_streams_write_and_wait_for_orders_them) {
  const CUdeviceptr word = running.memory();
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuStreamWaitValue32(b, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_word_may_be_waited_for_before_it_is_written) {
  const CUdeviceptr word = word_that_holds(b);
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_word_that_is_written_before_the_use_orders_nothing) {
  const CUdeviceptr word = word_that_holds(b);
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuStreamWriteValue32(a, word, 1, 0));
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, The_host_may_release_a_stream_when_another_is_done) {
  std::uint32_t *const word = pinned_word_that_holds(a);
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  need(driver().cuStreamSynchronize(b));
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, A_write_of_the_host_orders_nothing_without_a_wait_for_the_other_stream) {
  std::uint32_t *const word = pinned_word_that_holds(a);
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(a));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(HazardsFound, A_host_function_that_has_returned_informs_the_host) {
  std::atomic<bool> is_done{false};
  need(driver().cuMemsetD8Async(memory, 1, 100, a));
  need(driver().cuLaunchHostFunc(
      a, [](void *data) { *static_cast<std::atomic<bool> *>(data) = true; }, &is_done));
  need(driver().cuStreamSynchronize(a));
  EXPECT_TRUE(is_done) << "the program's own function was called";
  need(driver().cuMemsetD8Async(memory, 1, 100, b));
  EXPECT_EQ(rules(), kNone);
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

TEST(HazardModel, Captured_work_is_not_an_access) {
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

TEST_F(HazardsFound, Accesses_to_freed_memory_are_forgotten) {
  const CUdeviceptr first = running.memory();
  need(driver().cuMemsetD8Async(first, 1, 64, a));
  need(driver().cuMemFree(first));
  const CUdeviceptr second = running.memory();
  need(driver().cuMemsetD8Async(second, 1, 64, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(HazardsFound, Findings_with_the_same_call_stacks_are_counted) {
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

TEST_F(HazardsFound, Threads_with_streams_of_their_own_cause_no_finding) {
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
