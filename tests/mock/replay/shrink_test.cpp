// SPDX-License-Identifier: Apache-2.0
// Recordings that are shrunk to the calls that show a difference.
#include <gmock/gmock.h>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/shrink.hpp>

#include <cstring>
#include <sstream>
#include <thread>

#include "recorded.hpp"

namespace cushim::test {
namespace {

using replay::PlayOptions;
using replay::shrink;
using replay::ShrinkError;
using replay::Shrunk;
using testing::HasSubstr;

class Shrink : public Recorded {
 protected:
  using Prepare = std::function<hook::Hook(Driver &)>;

  static Shrunk shrink_on_new_machines(const Recording &recording, replay::ShrinkOptions options = {},
                                       const Prepare &prepare = {}) {
    return shrink(
        recording,
        [&](const PlayOptions &play_options) {
          const sim::Machine machine;
          const hook::Hook hook = prepare ? prepare(machine.driver()) : hook::Hook();
          return replay::play(recording, machine.driver(), play_options);
        },
        options);
  }

  static std::vector<std::string> symbols_of(const Recording &recording, const Shrunk &shrunk) {
    std::vector<std::string> symbols;
    for (const std::size_t call : shrunk.calls)
      symbols.emplace_back(cushim_entry(recording.calls()[call].slot)->symbol);
    return symbols;
  }

  // Makes many calls, of which four lead to the error of the last one.
  static void fail_after_noise(Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0, other = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    driver.cuMemAlloc(&memory, 1000);
    for (int i = 0; i < 50; ++i) {
      driver.cuMemAlloc(&other, 64);
      driver.cuMemsetD8(other, 1, 64);
      driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      driver.cuEventCreate(&event, 0);
      driver.cuEventRecord(event, stream);
      driver.cuStreamSynchronize(stream);
      driver.cuEventDestroy(event);
      driver.cuStreamDestroy(stream);
    }
    EXPECT_EQ(driver.cuMemFree(memory + 8), CUDA_ERROR_INVALID_VALUE);
    driver.cuMemFree(memory);
  }
};

TEST_F(Shrink, Only_the_calls_that_lead_to_an_error_are_kept) {
  const Recording recording = Recording::read(record(fail_after_noise));
  std::size_t reports = 0, last = recording.calls().size();
  const Shrunk shrunk = shrink_on_new_machines(recording, {.progress = [&](std::size_t calls, std::size_t) {
                                                 EXPECT_LE(calls, last);
                                                 last = calls;
                                                 ++reports;
                                               }});
  EXPECT_THAT(symbols_of(recording, shrunk),
              testing::ElementsAre("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2",
                                   "cuMemFree_v2"));
  EXPECT_FALSE(shrunk.difference);
  EXPECT_TRUE(shrunk.is_on_one_thread);
  EXPECT_GT(reports, 5U);
  EXPECT_LT(shrunk.replays, 100U);
}

TEST_F(Shrink, A_difference_of_a_value_is_kept_with_the_calls_that_lead_to_it) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdeviceptr memory = 0, other = 0;
    unsigned char received[4] = {};
    int count = 0;
    for (int i = 0; i < 20; ++i) driver.cuDeviceGetCount(&count);
    driver.cuMemAlloc(&other, 4);
    driver.cuMemAlloc(&memory, 4);
    driver.cuMemsetD8(other, 5, 4);
    driver.cuMemsetD8(memory, 7, 4);
    driver.cuMemcpyDtoH(received, memory, 4);
  });
  const auto prepare = [](Driver &driver) {
    return hook::replace<&cuMemsetD8>(
        driver, [](const auto &next, CUdeviceptr to, unsigned char value, std::size_t bytes) {
          return next(to, value == 7 ? 8 : value, bytes);
        });
  };
  const Shrunk shrunk = shrink_on_new_machines(recording, {}, prepare);
  ASSERT_TRUE(shrunk.difference);
  EXPECT_EQ(shrunk.difference->what, "dstHost");
  EXPECT_EQ(shrunk.difference->recorded, "byte 0 is 7");
  EXPECT_EQ(shrunk.difference->replayed, "8");
  EXPECT_THAT(symbols_of(recording, shrunk),
              testing::ElementsAre("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2",
                                   "cuMemsetD8_v2", "cuMemcpyDtoH_v2"))
      << "without cuMemsetD8_v2 the bytes differ, too, but otherwise";
  std::ostringstream text;
  write_test(recording, shrunk, text);
  EXPECT_THAT(text.str(), HasSubstr("EXPECT_EQ(std::string(static_cast<const char *>(dstHost"));
  EXPECT_THAT(text.str(), HasSubstr("std::string(\"\\007\\007\\007\\007\", 4)"));
}

TEST_F(Shrink, Calls_of_two_threads_that_need_their_own_context_stay_on_two_threads) {
  const Recording recording = recording_of([](Driver &driver) {
    std::thread([&] {
      CUdeviceptr memory = 0;
      EXPECT_EQ(driver.cuMemAlloc(&memory, 1), CUDA_ERROR_INVALID_CONTEXT);
    }).join();
  });
  const Shrunk all = shrink_on_new_machines(recording);
  EXPECT_TRUE(all.is_on_one_thread) << "without a context on any thread";
  EXPECT_EQ(symbols_of(recording, all), (std::vector<std::string>{"cuInit", "cuMemAlloc_v2"}));
}

TEST_F(Shrink, A_recording_without_differences_and_errors_or_another_call_is_refused) {
  const Recording recording = recording_of([](Driver &driver) {
    CUcontext context = nullptr;
    driver.cuCtxGetCurrent(&context);
  });
  const auto refusal = [&](replay::ShrinkOptions options) -> std::string {
    try {
      shrink_on_new_machines(recording, std::move(options));
    } catch (const ShrinkError &error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal({}), "no call differs, and none returned an error when it was recorded");
  EXPECT_EQ(refusal({.call = 3}), "call 3 (cuCtxGetCurrent) does not differ, and returned CUDA_SUCCESS");
  EXPECT_EQ(refusal({.call = 4}), "the recording has no call 4, only 4 calls");
}

}  // namespace
}  // namespace cushim::test
