// SPDX-License-Identifier: Apache-2.0
// Traces as text, and files that are refused.
#include "trace_file.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/mock/hook.hpp>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

namespace cushim::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(TraceFile, A_line_has_the_arguments_in_words_the_values_written_and_the_result) {
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

TEST_F(TraceFile, Handles_have_stable_names_and_a_new_number_after_they_were_destroyed) {
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

TEST_F(TraceFile, Objects_have_the_names_that_the_program_gave_until_they_are_destroyed) {
  {
    Tracer tracer(driver_, file_);
    CUstream stream = nullptr;
    CUevent event = nullptr;
    driver_.cuStreamCreate(&stream, 0);
    driver_.cuEventCreate(&event, 0);
    tracer.name(stream, "upload");
    tracer.name(event, std::string(200, 'x'));
    tracer.name("thread", static_cast<std::uint64_t>(gettid()), "main");
    driver_.cuEventRecord(event, stream);
    driver_.cuStreamDestroy(stream);
    driver_.cuStreamCreate(&stream, 0);
    driver_.cuEventDestroy(event);
  }
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("phStream -> stream#1,"), HasSubstr("phEvent -> event#1,"),
                                   "[1] cuEventRecord(hEvent=event#1 \"" + std::string(120, 'x') +
                                       "\"..., hStream=stream#1 \"upload\") = CUDA_SUCCESS",
                                   HasSubstr("hStream=stream#1 \"upload\")"), HasSubstr("stream#2,"),
                                   HasSubstr("event#1")));
  EXPECT_EQ(Trace(file_).thread_name(1), "thread 1 \"main\"");
  EXPECT_THAT(written(cushim::trace::write_summary), HasSubstr("            1  stream#1 \"upload\"\n"));
}

#if CUDA_VERSION >= 12000
TEST_F(TraceFile, Functions_and_kernels_have_the_names_by_which_they_were_found) {
  record([](Driver &driver) {
    const char *const ptx =
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry idle() { ret; }\n";
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CUfunction functions[2] = {};
    CUkernel kernel = nullptr;
    driver.cuModuleLoadData(&module, ptx);
    driver.cuModuleGetFunction(&functions[0], module, "idle");
    driver.cuLaunchKernel(functions[0], 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    driver.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    driver.cuLibraryGetKernel(&kernel, library, "idle");
    auto *const as_function = reinterpret_cast<CUfunction>(kernel);
    driver.cuLaunchKernel(as_function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    driver.cuKernelGetFunction(&functions[1], kernel);
    driver.cuCtxSynchronize();
  });
  const auto all = lines();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_THAT(all[1], HasSubstr("hfunc -> function#1 \"idle\""));
  EXPECT_THAT(all[2], HasSubstr("f=function#1 \"idle\""));
  EXPECT_THAT(all[5], HasSubstr("f=kernel#1 \"idle\""));
  EXPECT_THAT(all[6], HasSubstr("pFunc -> function#2 \"idle\""));
}
#endif

TEST_F(TraceFile, Structures_are_written_by_field_and_texts_as_text) {
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

TEST_F(TraceFile, Invalid_pointers_of_failed_calls_are_not_followed) {
  record([](Driver &driver) {
    const auto *const nowhere = reinterpret_cast<const char *>(8);
    CUfunction function = nullptr;
    driver.cuModuleGetFunction(&function, nullptr, nowhere);
    driver.cuArrayCreate(nullptr, reinterpret_cast<const CUDA_ARRAY_DESCRIPTOR *>(nowhere));
  });
  EXPECT_THAT(lines(), Contains(HasSubstr("name=0x8) = CUDA_ERROR_INVALID_HANDLE")));
  EXPECT_THAT(lines(), Contains(HasSubstr("pAllocateArray=0x8) = CUDA_ERROR_INVALID_VALUE")));
}

TEST_F(TraceFile, Lists_of_no_elements_are_not_read) {
  record([](Driver &driver) {
    EXPECT_EQ(driver.cuStreamBatchMemOp(nullptr, 0, reinterpret_cast<CUstreamBatchMemOpParams *>(8), 0),
              CUDA_SUCCESS);
  });
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("count=0, paramArray=0x8, flags=0) = CUDA_SUCCESS")));
}

TEST_F(TraceFile, Each_thread_has_a_number_and_its_calls_are_in_order) {
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

TEST_F(TraceFile, Calls_that_hooks_make_inside_a_call_are_not_the_program_s) {
  const auto hook = cushim::hook::before<&cuCtxSynchronize>(driver_, [&] {
    int count = 0;
    driver_.cuDeviceGetCount(&count);
  });
  record([](Driver &driver) { driver.cuCtxSynchronize(); });
  EXPECT_THAT(lines(), ElementsAre("[1] cuCtxSynchronize() = CUDA_SUCCESS"));
}

TEST_F(TraceFile, A_killed_process_leaves_all_calls_and_the_one_that_it_was_in) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork() records nothing, one of exec does
  setenv("CUSHIM_TEST_TRACE", file_.c_str(), 0);
  const auto be_killed = [&] {
    const auto hook = cushim::hook::before<&cuCtxSynchronize>(driver_, [] { raise(SIGKILL); });
    const Tracer tracer(driver_, std::getenv("CUSHIM_TEST_TRACE"));
    int version = 0;
    driver_.cuDriverGetVersion(&version);
    driver_.cuCtxSynchronize();
  };
  EXPECT_EXIT(be_killed(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_THAT(lines(), ElementsAre("[1] cuDriverGetVersion(driverVersion -> 13000) = CUDA_SUCCESS",
                                   "[1] cuCtxSynchronize() = ? <unfinished>"));
}

TEST_F(TraceFile, A_child_of_fork_records_nothing) {
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

TEST_F(TraceFile, The_virtual_time_of_a_simulated_driver_is_recorded) {
  {
    const Tracer tracer(driver_, file_, {.virtual_time = [this] { return machine_.now(); }});
    driver_.cuCtxSynchronize();
  }
  const Trace trace(file_);
  EXPECT_EQ(trace.calls().at(0).virtual_time, machine_.now().count());
  EXPECT_THAT(written(cushim::trace::write_text), HasSubstr(" us, virtual time "));
}

TEST_F(TraceFile, A_file_that_is_not_a_trace_or_is_damaged_is_refused) {
  EXPECT_THROW(Trace(folder_.path("nowhere")), std::runtime_error);
  EXPECT_THROW(Trace(folder_.write("text", "no trace")), std::runtime_error);
  record([](Driver &driver) { driver.cuCtxSynchronize(); });
  std::string bytes = bytes_of(file_);
  EXPECT_NO_THROW(Trace(folder_.write("whole", bytes)));
  bytes[4096 + 24] = '\x7f';  // the size of the first record
  EXPECT_THROW(Trace(folder_.write("damaged", bytes)), std::runtime_error);
}

TEST_F(TraceFile, A_call_whose_process_was_killed_before_it_counted_the_call_is_read) {
  record([](Driver &driver) {
    int version = 0;
    driver.cuDriverGetVersion(&version);
  });
  std::string bytes = bytes_of(file_);
  const auto before = lines();
  // The bytes in use end behind the begin: the headers of the chunk and of the record, and an argument.
  bytes[4096] = 48;
  folder_.write("calls.trace", bytes);
  EXPECT_EQ(lines(), before);
  EXPECT_THAT(before, ElementsAre(HasSubstr("= CUDA_SUCCESS")));
}

TEST_F(TraceFile, A_value_of_a_damaged_file_that_is_too_short_is_not_shown) {
  record([](Driver &driver) {
    int version = 0;
    driver.cuDriverGetVersion(&version);
  });
  std::string bytes = bytes_of(file_);
  // The size of the first value, after the chunk's header, the arguments, and the end of the call.
  ASSERT_EQ(bytes[4096 + 68], 4);
  bytes[4096 + 68] = 1;
  folder_.write("calls.trace", bytes);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("driverVersion=0x")));
}

TEST_F(TraceFile, A_file_that_cannot_be_created_is_an_error) {
  EXPECT_THROW(Tracer(driver_, "/nowhere/trace"), std::system_error);
}

TEST_F(TraceFile, A_call_has_its_call_stack_if_the_tracer_asks_for_it) {
  static const std::string first = "    #0 load (program+0x12)\n    #1 main (program+0x34)\n",
                           second = "    #0 main (program+0x56)\n";
  const std::string *stack = &first;
  CUdeviceptr kept = 0, freed = 0;
  {
    const Tracer tracer(driver_, file_, {.call_stack = [&] { return std::string_view(*stack); }});
    driver_.cuMemAlloc(&kept, 1'000'000);
    driver_.cuMemAlloc(&freed, 2'000'000);
    stack = &second;
    driver_.cuMemFree(freed);
    driver_.cuMemAlloc(&freed, 3'000'000);
  }
  const Trace trace(file_);
  ASSERT_EQ(trace.calls().size(), 4u);
  EXPECT_EQ(trace.calls()[0].call_stack, trace.calls()[1].call_stack);
  EXPECT_EQ(*trace.calls()[1].call_stack, first);
  EXPECT_EQ(*trace.calls()[3].call_stack, second);
  EXPECT_THAT(written(cushim::trace::write_text),
              testing::ContainsRegex("cuMemFree_v2.* = CUDA_SUCCESS <.*>\n    #0 main .program.0x56.\n"));
  for (const auto write : {cushim::trace::write_json, cushim::trace::write_chrome})
    EXPECT_THAT(written(write), testing::HasSubstr(R"("call_stack":"    #0 main (program+0x56)\u000a")"));
  EXPECT_THAT(written(cushim::trace::write_html), testing::HasSubstr(R"("stacks":["    #0 load)"));
  EXPECT_THAT(written(cushim::trace::write_summary),
              testing::HasSubstr("  3.000 MB of it in 1 allocations at\n" + second +
                                 "  1.000 MB of it in 1 allocations at\n" + first));
}

TEST_F(TraceFile, Without_call_stacks_no_call_has_one) {
  record([](Driver &driver) { driver.cuCtxSynchronize(); });
  EXPECT_EQ(Trace(file_).calls().at(0).call_stack, nullptr);
  EXPECT_THAT(written(cushim::trace::write_json), testing::Not(testing::HasSubstr("call_stack")));
}

TEST_F(TraceFile, A_note_stands_at_the_call_in_which_it_was_made_or_at_the_end) {
  {
    Tracer *tracer_in_call = nullptr;
    // Installed before the tracer, so it runs when the tracer has recorded the begin of the call.
    const auto hook = cushim::hook::before<&cuMemFree>(
        driver_, [&](CUdeviceptr) { tracer_in_call->note("freed too early\nby a test"); });
    Tracer tracer(driver_, file_);
    tracer_in_call = &tracer;
    CUdeviceptr memory = 0;
    driver_.cuMemAlloc(&memory, 4096);
    driver_.cuMemFree(memory);
    tracer.note(std::string(3000, 'x'));
    driver_.cuMemGetInfo(nullptr, nullptr);
  }
  const Trace trace(file_);
  ASSERT_EQ(trace.notes().size(), 2u);
  EXPECT_EQ(trace.notes()[0].call, trace.calls()[1].id);
  EXPECT_EQ(trace.notes()[1].call, 0u);
  EXPECT_EQ(trace.notes()[1].text, std::string(2000, 'x'));
  const std::string text = written(cushim::trace::write_text);
  EXPECT_THAT(text, testing::ContainsRegex(
                        "cuMemFree_v2.* = CUDA_SUCCESS <.*>\n    ! freed too early\n    ! by a test\n"
                        ".*cuMemGetInfo_v2.*\n.* \\[1\\]\n    ! xxx"));
  EXPECT_THAT(written(cushim::trace::write_json),
              testing::HasSubstr(R"("notes":["freed too early\u000aby a test"])"));
}

}  // namespace
}  // namespace cushim::test
