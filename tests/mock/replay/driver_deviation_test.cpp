// SPDX-License-Identifier: Apache-2.0
// Programs that deviate from the recording that answers them.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <cushim/mock/hook.hpp>

#include <string>
#include <thread>

#include "driver_of_recording.hpp"

namespace cushim::test {
namespace {

using replay::Deviation;
using testing::HasSubstr;

TEST_F(DriverOfRecording, Another_number_handle_address_or_byte_is_named) {
  const auto program = [](std::size_t bytes, bool second, unsigned offset, char byte) {
    return [=](Driver &driver) {
      make_context(driver);
      CUstream streams[2] = {};
      CUdeviceptr memory = 0;
      const char sent[] = {1, 2, byte};
      driver.cuStreamCreate(&streams[0], 0);
      driver.cuStreamCreate(&streams[1], 0);
      driver.cuMemAlloc(&memory, bytes);
      driver.cuMemsetD8Async(memory + offset, 1, 8, streams[second ? 1 : 0]);
      driver.cuMemcpyHtoD(memory, sent, sizeof sent);
    };
  };
  const auto recorded = program(64, false, 0, 3);
  Deviation deviation = deviation_of(recorded, program(96, false, 0, 3));
  EXPECT_EQ(deviation.call, 5U);
  EXPECT_EQ(deviation.thread, 1U);
  EXPECT_EQ(deviation.what, "bytesize");
  EXPECT_EQ(deviation.recorded, "64");
  EXPECT_EQ(deviation.given, "96");
  EXPECT_THAT(deviation.text(), HasSubstr("at call 5, thread 1: bytesize: recorded 64, given 96\n"
                                          "  recorded: cuMemAlloc_v2(dptr -> memory#1, bytesize=64) = "
                                          "CUDA_SUCCESS\n"
                                          "  given:    cuMemAlloc_v2(dptr = 0x"));
  deviation = deviation_of(recorded, program(64, true, 0, 3));
  EXPECT_EQ(deviation.what, "hStream");
  EXPECT_THAT(deviation.recorded, HasSubstr("stream 0x"));
  EXPECT_THAT(deviation.given, HasSubstr("stream 0x"));
  EXPECT_NE(deviation.given, deviation.recorded);
  EXPECT_EQ(deviation_of(recorded, program(64, false, 4, 3)).what, "dstDevice");
  deviation = deviation_of(recorded, program(64, false, 0, 4));
  EXPECT_EQ(deviation.what, "srcHost");
  EXPECT_EQ(deviation.recorded, "byte 2 is 3");
  EXPECT_EQ(deviation.given, "4");
}

TEST_F(DriverOfRecording, Another_call_is_named_and_later_calls_return_the_error_without_a_report) {
  const auto deviation = deviation_of(
      [](Driver &driver) {
        driver.cuInit(0);
        driver.cuCtxGetCurrent(nullptr);
      },
      [](Driver &driver) {
        int count = 0;
        EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
        EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_UNKNOWN);
      },
      {.answer = CUDA_ERROR_UNKNOWN});
  EXPECT_EQ(deviation.call, 1U);
  EXPECT_EQ(deviation.what, "entry point");
  EXPECT_EQ(deviation.recorded, "cuCtxGetCurrent");
  EXPECT_EQ(deviation.given, "cuDeviceGetCount");
}

TEST_F(DriverOfRecording, Arguments_of_ignored_entry_points_are_not_compared) {
  const auto program = [](unsigned char value) {
    return [=](Driver &driver) {
      make_context(driver);
      CUdeviceptr memory = 0;
      driver.cuMemAlloc(&memory, 8);
      EXPECT_EQ(driver.cuMemsetD8(memory, value, 8), CUDA_SUCCESS);
    };
  };
  replay::Driver driver(Recording::read(record(program(1))), {.ignored = {"cuMemset*"}});
  program(2)(driver);
  EXPECT_EQ(driver.calls_left(), 0U);
}

TEST_F(DriverOfRecording, A_deviation_fails_the_running_test) {
  replay::Driver driver(Recording::read(record([](Driver &recorded) { recorded.cuInit(0); })));
  EXPECT_NONFATAL_FAILURE(EXPECT_EQ(driver.driver().cuInit(1), CUDA_ERROR_NOT_SUPPORTED),
                          "at call 0, thread 1: Flags: recorded 0, given 1");
}

TEST_F(DriverOfRecording, The_end_of_the_recording_is_reported) {
  const auto deviation = deviation_of([](Driver &driver) { driver.cuInit(0); },
                                      [](Driver &driver) {
                                        driver.cuInit(0);
                                        driver.cuInit(0);
                                      });
  EXPECT_EQ(deviation.call, 1U);
  EXPECT_EQ(deviation.what, "recording");
  EXPECT_EQ(deviation.recorded, "the recording has no more calls of this thread");
  EXPECT_THAT(deviation.text(), HasSubstr("given:    cuInit(Flags = 0)"));
}

TEST_F(DriverOfRecording, A_truncated_recording_answers_its_calls_and_then_reports_that_it_is_incomplete) {
  const auto program = [](Driver &driver) {
    make_context(driver);
    const std::string bytes(300'000, 'x');
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, bytes.size());
    for (int i = 0; i < 8; ++i) driver.cuMemcpyHtoD(memory, bytes.data(), bytes.size());
  };
  const std::string bytes = bytes_of(record(program));
  Recording part = Recording::from_bytes(std::string_view(bytes).substr(0, bytes.size() * 2 / 3));
  ASSERT_FALSE(part.is_complete());
  const std::size_t calls = part.calls().size();
  ASSERT_GT(calls, 4U);
  ASSERT_LT(calls, 12U);
  replay::Driver driver(std::move(part), {.on_deviation = [](const Deviation &) {}});
  program(driver);
  ASSERT_TRUE(driver.deviation());
  EXPECT_THAT(driver.deviation()->recorded, testing::AnyOf(HasSubstr("it is not complete"),
                                                           HasSubstr("had not returned when the recording")));
}

TEST_F(DriverOfRecording, Two_threads_are_matched_by_their_first_call_whatever_their_order) {
  const auto program = [](bool swapped) {
    return [=](Driver &driver) {
      make_context(driver);
      const auto allocate = [&] {
        make_context(driver);
        for (int i = 0; i < 20; ++i) {
          CUdeviceptr memory = 0;
          EXPECT_EQ(driver.cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
          EXPECT_EQ(driver.cuMemsetD8(memory + 8, 1, 8), CUDA_SUCCESS);
          EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
        }
      };
      const auto create = [&] {
        int count = 0;
        EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
        allocate();
      };
      std::thread first([&] { swapped ? create() : allocate(); });
      if (!swapped) first.join();
      std::thread second([&] { swapped ? allocate() : create(); });
      if (swapped) first.join();
      second.join();
    };
  };
  replay::Driver driver(Recording::read(record(program(false))));
  program(true)(driver);
  EXPECT_EQ(driver.calls_left(), 0U);
}

TEST_F(DriverOfRecording, A_thread_that_the_recording_lacks_is_reported) {
  const auto deviation = deviation_of([](Driver &driver) { driver.cuInit(0); },
                                      [](Driver &driver) {
                                        driver.cuInit(0);
                                        std::thread([&] { driver.cuInit(0); }).join();
                                      });
  EXPECT_EQ(deviation.thread, 0U);
  EXPECT_EQ(deviation.recorded, "the recording has 1 threads, and the program has another one");
}

TEST_F(DriverOfRecording, An_address_that_was_used_again_means_another_object) {
  const auto program = [](bool keeps_first) {
    return [=](Driver &driver) {
      make_context(driver);
      CUdeviceptr first = 0, second = 0;
      driver.cuMemAlloc(&first, 4 << 20);
      driver.cuMemFree(first);
      driver.cuMemAlloc(&second, 4 << 20);
      driver.cuMemsetD8(keeps_first ? first : second, 1, 8);
    };
  };
  EXPECT_EQ(deviation_of(program(false), program(true)).what, "dstDevice");
}

TEST_F(DriverOfRecording, Export_tables_are_refused) {
  const void *table = nullptr;
  {
    const sim::Machine machine;
    const auto finds = hook::replace<&cuGetExportTable>(
        machine.driver(), [](const void **, const CUuuid *) { return CUDA_SUCCESS; });
    const replay::Recorder recorder(machine.driver(), file_);
    machine.driver().cuGetExportTable(&table, nullptr);
  }
  replay::Driver driver(Recording::read(file_), {.on_deviation = [](const replay::Deviation &) {}});
  EXPECT_EQ(driver.driver().cuGetExportTable(&table, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.deviation().value().recorded,
            "the call returned functions of NVIDIA's driver, which no recording can answer");
}

TEST_F(DriverOfRecording, Data_that_was_not_recorded_is_reported) {
  const auto program = [](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    int number = 1;
    driver.cuMemAlloc(&memory, sizeof number);
    driver.cuMemcpyHtoD(memory, &number, sizeof number);
    driver.cuMemcpyDtoH(&number, memory, sizeof number);
  };
  const auto deviation = deviation_of(program, program, {}, RecordData::hashes);
  EXPECT_EQ(deviation.what, "dstHost");
  EXPECT_EQ(deviation.recorded, "what the call wrote was not recorded");
}

}  // namespace
}  // namespace cushim::test
