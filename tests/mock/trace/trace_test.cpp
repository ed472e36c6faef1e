// SPDX-License-Identifier: Apache-2.0
// Recordings of calls of the simulated driver: text, JSON, timelines, summaries, advice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/mock/hook.hpp>
#include <cushim/sim/machine.hpp>
#include <cushim/trace/trace.hpp>
#include <cushim/trace/tracer.hpp>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>

#include "support/folder.hpp"

namespace {

using cushim::Driver;
using cushim::sim::Machine;
using cushim::trace::Trace;
using cushim::trace::Tracer;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

class Recording : public testing::Test {
 protected:
  Recording() {
    CUcontext context = nullptr;
    EXPECT_EQ(driver_.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  // Records the program.
  void record(const std::function<void(Driver &driver)> &program) {
    const Tracer tracer(driver_, file_);
    program(driver_);
  }

  std::string written(void (*write)(const Trace &, std::ostream &)) const {
    std::ostringstream stream;
    write(Trace(file_), stream);
    return stream.str();
  }

  // Returns the text of each call, without times.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream text(written(cushim::trace::write_text));
    for (std::string line; std::getline(text, line);)
      lines.push_back(std::regex_replace(line, std::regex("^[0-9.]+ | <[0-9.]+ us>$"), ""));
    return lines;
  }

  std::vector<std::string> rules() const {
    std::vector<std::string> rules;
    for (const auto &advice : cushim::trace::advice(Trace(file_))) rules.push_back(advice.rule);
    return rules;
  }

  Machine machine_;
  Driver &driver_ = machine_.driver();
  const Folder folder_;
  const std::string file_ = folder_.path("recording.trace");
};

TEST_F(Recording, A_line_has_the_arguments_in_words_the_values_written_and_the_result) {
  record([](Driver &driver) {
    CUdeviceptr memory = 0;
    int value = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemsetD8(memory + 16, 7, 100);
    driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    driver.cuMemFree(memory);
    driver.cuMemAlloc(nullptr, 1);
  });
  EXPECT_THAT(
      lines(),
      ElementsAre(
          "[1] cuMemAlloc_v2(dptr -> memory#1, bytesize=4096) = CUDA_SUCCESS",
          "[1] cuMemsetD8_v2(dstDevice=memory#1 + 16, uc=7, N=100) = CUDA_SUCCESS",
          "[1] cuDeviceGetAttribute(pi -> 32, attrib=CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=0) = CUDA_SUCCESS",
          "[1] cuMemFree_v2(dptr=memory#1) = CUDA_SUCCESS",
          "[1] cuMemAlloc_v2(dptr=null, bytesize=1) = CUDA_ERROR_INVALID_VALUE"));
}

TEST_F(Recording, Handles_have_stable_names_and_a_new_number_after_they_were_destroyed) {
  record([](Driver &driver) {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    driver.cuEventRecord(event, stream);
    driver.cuEventRecord(event, nullptr);
    driver.cuStreamDestroy(stream);
    driver.cuStreamCreate(&stream, 0);
    driver.cuStreamSynchronize(stream);
  });
  EXPECT_THAT(
      lines(),
      ElementsAre(
          "[1] cuStreamCreate(phStream -> stream#1, Flags=CU_STREAM_NON_BLOCKING) = CUDA_SUCCESS",
          "[1] cuEventCreate(phEvent -> event#1, Flags=CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) "
          "= CUDA_SUCCESS",
          "[1] cuEventRecord(hEvent=event#1, hStream=stream#1) = CUDA_SUCCESS",
          "[1] cuEventRecord(hEvent=event#1, hStream=null stream) = CUDA_SUCCESS",
          "[1] cuStreamDestroy_v2(hStream=stream#1) = CUDA_SUCCESS",
          "[1] cuStreamCreate(phStream -> stream#2, Flags=CU_STREAM_DEFAULT) = CUDA_SUCCESS",
          "[1] cuStreamSynchronize(hStream=stream#2) = CUDA_SUCCESS"));
}

TEST_F(Recording, Structures_are_written_by_field_and_texts_as_text) {
  record([](Driver &driver) {
    CUDA_ARRAY_DESCRIPTOR descriptor = {16, 4, CU_AD_FORMAT_FLOAT, 1};
    CUarray array = nullptr;
    const char *name = nullptr;
    char device[64];
    driver.cuArrayCreate(&array, &descriptor);
    driver.cuGetErrorName(CUDA_ERROR_NO_DEVICE, &name);
    driver.cuDeviceGetName(device, sizeof device, 0);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    driver.cuModuleGetFunction(&function, module, "no such \"kernel\"");
    driver.cuModuleGetFunction(&function, module, "");
  });
  const auto all = lines();
  ASSERT_EQ(all.size(), 5);
  EXPECT_EQ(all[0],
            "[1] cuArrayCreate_v2(pHandle -> array#1, pAllocateArray={Width=16, Height=4, "
            "Format=CU_AD_FORMAT_FLOAT, "
            "NumChannels=1}) = CUDA_SUCCESS");
  EXPECT_EQ(
      all[1],
      "[1] cuGetErrorName(error=CUDA_ERROR_NO_DEVICE, pStr -> \"CUDA_ERROR_NO_DEVICE\") = CUDA_SUCCESS");
  EXPECT_EQ(all[2], "[1] cuDeviceGetName(name -> \"NVIDIA H200\", len=64, dev=0) = CUDA_SUCCESS");
  EXPECT_THAT(all[3],
              HasSubstr("hmod=null module, name=\"no such \\\"kernel\\\"\") = CUDA_ERROR_INVALID_HANDLE"));
  EXPECT_THAT(all[4], HasSubstr("name=\"\") = CUDA_ERROR_INVALID_HANDLE"));
}

TEST_F(Recording, Invalid_pointers_of_failed_calls_are_not_followed) {
  record([](Driver &driver) {
    const auto *const nowhere = reinterpret_cast<const char *>(8);
    CUfunction function = nullptr;
    driver.cuModuleGetFunction(&function, nullptr, nowhere);
    driver.cuArrayCreate(nullptr, reinterpret_cast<const CUDA_ARRAY_DESCRIPTOR *>(nowhere));
  });
  EXPECT_THAT(lines(), Contains(HasSubstr("name=0x8) = CUDA_ERROR_INVALID_HANDLE")));
  EXPECT_THAT(lines(), Contains(HasSubstr("pAllocateArray=0x8) = CUDA_ERROR_INVALID_VALUE")));
}

TEST_F(Recording, Lists_of_no_elements_are_not_read) {
  record([](Driver &driver) {
    EXPECT_EQ(driver.cuStreamBatchMemOp(nullptr, 0, reinterpret_cast<CUstreamBatchMemOpParams *>(8), 0),
              CUDA_SUCCESS);
  });
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("count=0, paramArray=0x8, flags=0) = CUDA_SUCCESS")));
}

TEST_F(Recording, Each_thread_has_a_number_and_its_calls_are_in_order) {
  record([](Driver &driver) {
    int version = 0;
    driver.cuDriverGetVersion(&version);
    std::thread([&] { driver.cuDeviceGetCount(&version); }).join();
    std::thread([&] { driver.cuDeviceGet(&version, 0); }).join();
    for (int i = 0; i < 2000; ++i) driver.cuDriverGetVersion(&version);  // more than a chunk
  });
  const Trace trace(file_);
  EXPECT_EQ(trace.threads(), 3);
  ASSERT_EQ(trace.calls().size(), 2003);
  EXPECT_THAT(lines(), Contains("[3] cuDeviceGet(device -> 0, ordinal=0) = CUDA_SUCCESS"));
  for (std::size_t i = 1; i < trace.calls().size(); ++i) {
    ASSERT_LE(trace.calls()[i - 1].begin, trace.calls()[i].begin);
    ASSERT_LE(trace.calls()[i].begin, trace.calls()[i].end);
  }
}

TEST_F(Recording, Calls_that_hooks_make_inside_a_call_are_not_the_program_s) {
  const auto hook = cushim::hook::before<&cuCtxSynchronize>(driver_, [&] {
    int count = 0;
    driver_.cuDeviceGetCount(&count);
  });
  record([](Driver &driver) { driver.cuCtxSynchronize(); });
  EXPECT_THAT(lines(), ElementsAre("[1] cuCtxSynchronize() = CUDA_SUCCESS"));
}

TEST_F(Recording, A_killed_process_leaves_all_calls_and_the_one_that_it_was_in) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork() records nothing, one of exec does
  setenv("CUSHIM_TEST_RECORDING", file_.c_str(), 0);
  const auto be_killed = [&] {
    const auto hook = cushim::hook::before<&cuCtxSynchronize>(driver_, [] { raise(SIGKILL); });
    const Tracer tracer(driver_, std::getenv("CUSHIM_TEST_RECORDING"));
    int version = 0;
    driver_.cuDriverGetVersion(&version);
    driver_.cuCtxSynchronize();
  };
  EXPECT_EXIT(be_killed(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_THAT(lines(), ElementsAre("[1] cuDriverGetVersion(driverVersion -> 13000) = CUDA_SUCCESS",
                                   "[1] cuCtxSynchronize() = ? <unfinished>"));
}

TEST_F(Recording, A_child_of_fork_records_nothing) {
  record([](Driver &driver) {
    driver.cuCtxSynchronize();
    const pid_t child = fork();
    if (child == 0) {
      driver.cuCtxSynchronize();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(lines().size(), 1);
}

TEST_F(Recording, The_virtual_time_of_a_simulated_driver_is_recorded) {
  {
    const Tracer tracer(driver_, file_, {.virtual_time = [this] { return machine_.now(); }});
    driver_.cuCtxSynchronize();
  }
  const Trace trace(file_);
  EXPECT_EQ(trace.calls().at(0).virtual_time, machine_.now().count());
  EXPECT_THAT(written(cushim::trace::write_text), HasSubstr(" us, virtual time "));
}

TEST_F(Recording, JSON_has_one_object_a_line) {
  record([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemFree(memory);
  });
  std::istringstream text(written(cushim::trace::write_json));
  std::string line;
  ASSERT_TRUE(std::getline(text, line));
  const Json first = Json::parse(line);
  EXPECT_EQ(first["call"], "cuMemAlloc_v2");
  EXPECT_EQ(first["arguments"], (Json{{"dptr", "memory#1"}, {"bytesize", "4096"}}));
  EXPECT_EQ(first["result"], "CUDA_SUCCESS");
  EXPECT_EQ(first["system_thread"], getpid());
  EXPECT_GE(first["duration_ns"], 0);
  ASSERT_TRUE(std::getline(text, line));
  EXPECT_EQ(Json::parse(line)["call"], "cuMemFree_v2");
}

TEST_F(Recording, The_timeline_has_an_event_for_each_call_and_for_each_change_of_memory) {
  record([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemFree(memory);
  });
  const Json timeline = Json::parse(written(cushim::trace::write_chrome));
  std::vector<std::string> names;
  std::vector<int> bytes;
  for (const Json &event : timeline["traceEvents"]) {
    if (event["ph"] == "X") names.push_back(event["name"]);
    if (event["ph"] == "C") bytes.push_back(event["args"]["bytes"]);
  }
  EXPECT_THAT(names, ElementsAre("cuMemAlloc_v2", "cuMemFree_v2"));
  EXPECT_THAT(bytes, ElementsAre(4096, 0));
}

TEST_F(Recording, The_summary_has_calls_copies_memory_and_streams) {
  record([](Driver &driver) {
    std::vector<char> host(1000);
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemcpyHtoD(memory, host.data(), host.size());
    driver.cuStreamCreate(&stream, 0);
    driver.cuMemsetD8Async(memory, 1, 10, stream);
    driver.cuStreamSynchronize(stream);
    driver.cuMemFree(0x10);
  });
  const std::string summary = written(cushim::trace::write_summary);
  EXPECT_THAT(summary, HasSubstr("6 calls of 6 functions by 1 thread\n"));
  EXPECT_THAT(summary, testing::ContainsRegex(" 1 +[0-9.]+ +[0-9.]+ +1  cuMemFree_v2"));
  EXPECT_THAT(summary, testing::ContainsRegex("1 +0.001 +0.001 +[0-9.]+  host to device"));
  EXPECT_THAT(summary, HasSubstr("1 allocations, at most 0.004 MB in use"));
  EXPECT_THAT(summary, HasSubstr("            1  stream#1\n"));
  EXPECT_THAT(summary, HasSubstr("1 synchronizations, "));
  EXPECT_THAT(summary, Not(HasSubstr("advice")));
}

// ---- Advice: a program with the fault, and its twin without it ----

TEST_F(Recording, Pageable_copies_are_found_and_pinned_ones_are_not) {
  std::vector<char> pageable(1 << 20);
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, pageable.size()), CUDA_SUCCESS);
  record([&](Driver &driver) { driver.cuMemcpyHtoD(memory, pageable.data(), pageable.size()); });
  EXPECT_THAT(rules(), ElementsAre("pageable-copy"));
  record([&](Driver &driver) {
    void *pinned = nullptr;
    driver.cuMemAllocHost(&pinned, pageable.size());
    driver.cuMemcpyHtoD(memory, pinned, pageable.size());
    driver.cuMemHostRegister(pageable.data(), pageable.size(), 0);
    driver.cuMemcpyHtoD(memory, pageable.data(), pageable.size());
    driver.cuMemHostUnregister(pageable.data());
  });
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(Recording, A_wait_for_each_operation_is_found_and_one_for_many_is_not) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  for (const int operations : {1, 5}) {
    record([&](Driver &driver) {
      for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < operations; ++k) driver.cuMemsetD8Async(memory, 1, 10, stream);
        driver.cuStreamSynchronize(stream);
      }
    });
    EXPECT_EQ(rules().size(), operations == 1 ? 1 : 0);
  }
}

TEST_F(Recording, Allocations_in_a_loop_are_found_and_different_ones_are_not) {
  for (const std::size_t step : {0, 1}) {
    record([&](Driver &driver) {
      CUdeviceptr memory = 0;
      for (std::size_t i = 0; i < 10; ++i) {
        driver.cuMemAlloc(&memory, 4096 + step * i);
        driver.cuMemFree(memory);
      }
    });
    EXPECT_EQ(rules().size(), step == 0 ? 1 : 0);
  }
}

TEST_F(Recording, Timed_events_that_are_not_read_are_found) {
  for (const bool is_read : {false, true}) {
    record([&](Driver &driver) {
      CUevent event = nullptr;
      float time = 0;
      driver.cuEventCreate(&event, 0);
      for (int i = 0; i < 10; ++i) driver.cuEventRecord(event, nullptr);
      if (is_read) driver.cuEventElapsedTime(&time, event, event);
    });
    EXPECT_EQ(rules().size(), is_read ? 0 : 1);
  }
}

TEST_F(Recording, Work_in_the_legacy_stream_beside_others_is_found) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  for (const bool has_other : {false, true}) {
    record([&](Driver &driver) {
      for (int i = 0; i < 10; ++i) driver.cuMemsetD8Async(memory, 1, 10, nullptr);
      if (has_other) driver.cuMemsetD8Async(memory, 1, 10, stream);
    });
    EXPECT_EQ(rules().size(), has_other ? 1 : 0);
  }
}

TEST_F(Recording, A_file_that_is_no_recording_or_is_damaged_is_refused) {
  EXPECT_THROW(Trace(folder_.path("nowhere")), std::runtime_error);
  EXPECT_THROW(Trace(folder_.write("text", "no recording")), std::runtime_error);
  record([](Driver &driver) { driver.cuCtxSynchronize(); });
  std::string bytes = bytes_of(file_);
  EXPECT_NO_THROW(Trace(folder_.write("whole", bytes)));
  bytes[4096 + 16] = '\x7f';  // the size of the first record
  EXPECT_THROW(Trace(folder_.write("damaged", bytes)), std::runtime_error);
}

TEST_F(Recording, A_value_of_a_damaged_file_that_is_too_short_is_not_shown) {
  record([](Driver &driver) {
    int version = 0;
    driver.cuDriverGetVersion(&version);
  });
  std::string bytes = bytes_of(file_);
  ASSERT_EQ(bytes[4096 + 84],
            4);  // the size of the first value, after the chunk's header, a begin and an end
  bytes[4096 + 84] = 1;
  folder_.write("recording.trace", bytes);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("driverVersion=0x")));
}

TEST_F(Recording, A_file_that_cannot_be_created_is_an_error) {
  EXPECT_THROW(Tracer(driver_, "/nowhere/recording"), std::system_error);
}

}  // namespace
