// SPDX-License-Identifier: Apache-2.0
// Calls that wait for work that never completes.
#include <gtest/gtest.h>
#include <cushim/check/deadlock.hpp>
#include <cushim/mock/own_thread.hpp>
#include <cushim/sim/machine.hpp>

#include <atomic>

#include "support/machine_fixture.hpp"
#include "support/threads.hpp"

namespace cushim::check {
namespace {

using sim::kHasThreadOfTool;
using sim::need;
using sim::Running;
using std::chrono::milliseconds;

CUdeviceptr address(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

TEST(Deadlocks, Streams_that_wait_for_each_other_are_named_with_their_words) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  const Running running({.report = [](const std::string &) {}});
  const Deadlock checker(driver());
  const CUstream one = running.stream(), other = running.stream();
  const CUdeviceptr words = running.memory();
  need(driver().cuMemsetD32(words, 0, 2));
  need(driver().cuCtxSynchronize());
  need(driver().cuStreamWaitValue32(one, words, 7, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuStreamWriteValue32(one, words + 4, 8, CU_STREAM_WRITE_VALUE_DEFAULT));
  need(driver().cuStreamWaitValue32(other, words + 4, 8, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_EQ(driver().cuStreamSynchronize(other), CUDA_ERROR_LAUNCH_TIMEOUT);
  const auto findings = checker.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "never");
  ASSERT_EQ(findings[0].calls.size(), 3u) << findings[0];
  const std::string first = findings[0].calls[1].text, second = findings[0].calls[2].text;
  EXPECT_NE(first.find("cuStreamWaitValue32_v2 in stream 1 ("), first.npos) << first;
  EXPECT_NE(first.find(" == 7; no stream memory operation has written it"), first.npos) << first;
  EXPECT_NE(second.find(" == 8"), second.npos) << second;
  EXPECT_EQ(second.find("no stream"), second.npos) << second;
  need(driver().cuMemsetD32Async(words, 7, 1, running.stream()));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(checker.findings().size(), 1u);
}

TEST(Deadlocks, Are_watched_by_a_thread_that_receives_no_signals_of_the_program) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer starts a thread of its own with the first one";
  const Running running;
  std::uint32_t *const word = running.pinned();
  *word = 0;
  const CUstream stream = running.stream();
  const Deadlock checker(driver());
  const auto before = test::threads();
  need(driver().cuStreamWaitValue32(stream, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  const test::NewThreads started = test::threads_since(before);
  EXPECT_EQ(started.number, 1);
  EXPECT_EQ(started.signals_taken, 0);
  EXPECT_EQ(started.faults_blocked, 0);
  std::atomic_ref(*word).store(1);
  need(driver().cuStreamSynchronize(stream));
}

TEST(Deadlocks, A_call_that_waits_long_for_the_host_is_reported_at_once_and_continues) {
  std::atomic<bool> is_reported{false};
  const Running running({.report = [](const std::string &) {}});
  std::uint32_t *const word = running.pinned();
  *word = 0;
  const Deadlock checker(driver(), milliseconds(2), [&](const Finding &finding) {
    EXPECT_EQ(finding.rule, "still-waits");
    EXPECT_NE(finding.calls.at(1).text.find(">= 1"), std::string::npos) << finding;
    is_reported = true;
    std::atomic_ref(*word).store(1);
  });
  const CUstream stream = running.stream();
  need(driver().cuStreamWaitValue32(stream, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_TRUE(is_reported);
  EXPECT_EQ(checker.findings().size(), 1u);
}

TEST(Deadlocks, A_wait_that_the_program_ends_is_not_reported) {
  const Running running;
  std::uint32_t *const word = running.pinned();
  *word = 1;
  const Deadlock checker(driver());
  const CUstream stream = running.stream();
  need(driver().cuStreamWaitValue32(stream, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  need(driver().cuLaunchHostFunc(
      stream, [](void *) {}, nullptr));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_TRUE(checker.findings().empty());
}

TEST(Deadlocks, A_host_function_that_calls_the_driver) {
  const Running running;
  const Deadlock checker(driver());
  const CUstream stream = running.stream();
  const auto wait = [](void *own) {
    driver().cuStreamQuery(static_cast<CUstream>(own));  // does not wait
    EXPECT_EQ(driver().cuStreamSynchronize(static_cast<CUstream>(own)), CUDA_ERROR_LAUNCH_TIMEOUT);
  };
  need(driver().cuLaunchHostFunc(stream, wait, stream));
  need(driver().cuStreamSynchronize(stream));
  const auto findings = checker.findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "host-function");
  EXPECT_EQ(findings[0].calls[0].text.substr(0, 19), "cuStreamSynchronize");
  EXPECT_EQ(findings[1].rule, "never");  // the wait ends
}

TEST(Deadlocks, The_checkers_thread_begins_when_a_stream_may_wait) {
  const Running running;
  std::uint32_t *const word = running.pinned();
  *word = 1;
  const long before = mock::own_threads;
  const Deadlock checker(driver());
  const CUstream stream = running.stream();
  need(driver().cuMemsetD32Async(running.memory(), 7, 1, stream));
  need(driver().cuStreamSynchronize(stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(mock::own_threads, before);
  need(driver().cuStreamWaitValue32(stream, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_EQ(mock::own_threads, before + 1);
  need(driver().cuStreamSynchronize(stream));
}

TEST(Deadlocks, A_call_that_waits_long_for_a_host_function_is_reported_at_once) {
  const Running running({.report = [](const std::string &) {}});
  std::atomic<bool> is_reported{false};
  const Deadlock checker(driver(), milliseconds(2), [&](const Finding &finding) {
    EXPECT_EQ(finding.rule, "still-waits");
    is_reported = true;
    is_reported.notify_all();
  });
  const CUstream stream = running.stream();
  need(driver().cuLaunchHostFunc(
      stream, [](void *told) { static_cast<std::atomic<bool> *>(told)->wait(false); }, &is_reported));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_TRUE(is_reported);
}

TEST(Deadlocks, A_wait_for_new_work_in_a_stream_that_was_idle_is_reported) {
  const Running running({.report = [](const std::string &) {}});
  std::atomic<bool> is_reported{false};
  std::uint32_t *const word = running.pinned();
  *word = 0;
  const Deadlock checker(driver(), milliseconds(2), [&](const Finding &) {
    is_reported = true;
    std::atomic_ref(*word).store(1);
  });
  const CUstream stream = running.stream();
  need(driver().cuStreamSynchronize(stream));
  need(driver().cuStreamWaitValue32(stream, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  need(driver().cuStreamSynchronize(stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_TRUE(is_reported);
}

TEST(Deadlocks, Callbacks_are_host_functions_too) {
  const Running running;
  const Deadlock checker(driver());
  const CUstream stream = running.stream();
  const auto allocate = [](CUstream, CUresult status, void *) {
    EXPECT_EQ(status, CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    driver().cuMemAlloc(&memory, 16);
  };
  need(driver().cuStreamAddCallback(stream, allocate, nullptr, 0));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(checker.findings().size(), 1u);
}

}  // namespace
}  // namespace cushim::check
