// SPDX-License-Identifier: Apache-2.0
// The data of each call in a recording.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/exact.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

#include "recorded.hpp"
#include "recording_format.hpp"

namespace cushim::test {
namespace {

using replay::Item;
using replay::RecordedCall;
using testing::HasSubstr;
using testing::IsEmpty;

class Recorder : public Recorded {
 protected:
  static const RecordedCall &call_of(const Recording &recording, std::string_view symbol) {
    const auto found = std::ranges::find_if(recording.calls(), [&](const RecordedCall &call) {
      return cushim_entry(call.slot)->symbol == symbol;
    });
    EXPECT_NE(found, recording.calls().end()) << symbol;
    return *found;
  }
  static std::string_view bytes_of_item(std::span<const Item> items, unsigned argument) {
    for (const Item &item : items)
      if (item.argument == argument) return item.bytes;
    return {};
  }
};

TEST_F(Recorder, A_call_has_its_arguments_result_and_the_object_that_it_wrote) {
  CUdeviceptr memory = 0;
  const Recording recording = recording_of([&](Driver &driver) {
    EXPECT_EQ(driver.cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_EQ(recording.process(), getpid());
  EXPECT_EQ(recording.calls().size(), 5U);
  const RecordedCall &call = call_of(recording, "cuMemAlloc_v2");
  EXPECT_EQ(call.words[1], 4096U);
  EXPECT_EQ(call.result, CUDA_SUCCESS);
  ASSERT_EQ(call.after.size(), 1U);
  EXPECT_EQ(call.after[0].bytes, std::string_view(reinterpret_cast<const char *>(&memory), sizeof memory));
  EXPECT_LE(call.begin_time, call.end_time);
  EXPECT_EQ(recording.calls().back().result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(recording.calls().back().after.empty());
}

TEST_F(Recorder, Copied_memory_is_recorded_in_full_by_its_hash_or_not_at_all) {
  const std::string sent = "the data of a program";
  const auto program = [&](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    std::string received(sent.size(), '\0');
    driver.cuMemAlloc(&memory, sent.size());
    driver.cuMemcpyHtoD(memory, sent.data(), sent.size());
    driver.cuMemcpyDtoH(received.data(), memory, sent.size());
  };
  {
    const Recording recording = Recording::read(record(program));
    EXPECT_EQ(bytes_of_item(call_of(recording, "cuMemcpyHtoD_v2").before, 1), sent);
    EXPECT_EQ(bytes_of_item(call_of(recording, "cuMemcpyDtoH_v2").after, 0), sent);
  }
  {
    const Recording recording = Recording::read(record(program, RecordData::hashes));
    const auto &written = call_of(recording, "cuMemcpyDtoH_v2").after;
    ASSERT_EQ(written.size(), 1U);
    EXPECT_TRUE(written[0].is_hash);
    EXPECT_EQ(written[0].size, sent.size());
    const std::uint64_t hash = replay::hash_of_data(sent);
    EXPECT_EQ(written[0].bytes, std::string_view(reinterpret_cast<const char *>(&hash), sizeof hash));
  }
  {
    const Recording recording = Recording::read(record(program, RecordData::none));
    EXPECT_TRUE(call_of(recording, "cuMemcpyHtoD_v2").before.empty());
    EXPECT_TRUE(call_of(recording, "cuMemcpyDtoH_v2").after.empty());
  }
}

TEST_F(Recorder, Bytes_of_an_asynchronous_copy_are_recorded_with_the_call_that_waited_for_it) {
  std::string received(5, '\0'), other(5, '\0');
  const Recording recording = recording_of([&](Driver &driver) {
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc(&memory, 5);
    driver.cuMemcpyHtoD(memory, "bytes", 5);
    driver.cuMemcpyDtoHAsync(received.data(), memory, 5, stream);
    driver.cuMemcpyDtoHAsync(other.data(), memory, 5, nullptr);
    driver.cuStreamSynchronize(stream);
  });
  const RecordedCall &waited = call_of(recording, "cuStreamSynchronize");
  ASSERT_EQ(waited.after.size(), 1U) << "of this stream alone";
  EXPECT_EQ(waited.after[0].completed, call_of(recording, "cuMemcpyDtoHAsync_v2").begin);
  EXPECT_EQ(waited.after[0].bytes, "bytes");
}

TEST_F(Recorder, An_event_and_the_context_complete_asynchronous_copies_too) {
  std::string received[3] = {std::string(5, '\0'), std::string(5, '\0'), std::string(5, '\0')};
  const Recording recording = recording_of([&](Driver &driver) {
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, 0);
    driver.cuMemAlloc(&memory, 5);
    driver.cuMemcpyHtoD(memory, "bytes", 5);
    driver.cuMemcpyDtoHAsync(received[0].data(), memory, 5, stream);
    driver.cuEventRecord(event, stream);
    driver.cuMemcpyDtoHAsync(received[1].data(), memory, 5, stream);
    driver.cuMemcpyDtoHAsync(received[2].data(), memory, 5, nullptr);
    driver.cuEventSynchronize(event);
    driver.cuCtxSynchronize();
  });
  const RecordedCall &event = call_of(recording, "cuEventSynchronize");
  ASSERT_EQ(event.after.size(), 1U) << "only the copy before the event";
  EXPECT_EQ(event.after[0].completed, call_of(recording, "cuMemcpyDtoHAsync_v2").begin);
  EXPECT_EQ(call_of(recording, "cuCtxSynchronize").after.size(), 2U);
}

TEST_F(Recorder, The_context_of_another_stream_completes_no_copy) {
  std::string received(5, '\0');
  const Recording recording = recording_of([&](Driver &driver) {
    CUcontext other = nullptr;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc(&memory, 5);
    driver.cuMemcpyDtoHAsync(received.data(), memory, 5, stream);
    EXPECT_EQ(exact::cuCtxCreate_v3020(driver)(&other, 0, 0), CUDA_SUCCESS);
    driver.cuCtxSynchronize();
    driver.cuStreamSynchronize(stream);
  });
  EXPECT_TRUE(call_of(recording, "cuCtxSynchronize").after.empty());
  EXPECT_EQ(call_of(recording, "cuStreamSynchronize").after.size(), 1U);
}

TEST_F(Recorder, Large_data_spans_blocks) {
  std::vector<std::uint32_t> sent(1'000'000);
  for (std::uint32_t i = 0; i < sent.size(); ++i) sent[i] = i * 2654435761U;
  const Recording recording = recording_of([&](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4 * sent.size());
    driver.cuMemcpyHtoD(memory, sent.data(), 4 * sent.size());
    driver.cuMemFree(memory);
  });
  EXPECT_EQ(bytes_of_item(call_of(recording, "cuMemcpyHtoD_v2").before, 1),
            std::string_view(reinterpret_cast<const char *>(sent.data()), 4 * sent.size()));
  EXPECT_TRUE(recording.is_complete());
}

TEST_F(Recorder, Arrays_have_all_their_elements) {
  const Recording recording = recording_of([&](Driver &driver) {
    CUgraph graph = nullptr;
    CUgraphNode nodes[3] = {};
    std::size_t count = 2;
    driver.cuGraphCreate(&graph, 0);
    driver.cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0);
    driver.cuGraphAddEmptyNode(&nodes[1], graph, nullptr, 0);
    driver.cuGraphAddEmptyNode(&nodes[2], graph, nodes, 2);
    driver.cuGraphGetRootNodes(graph, nodes, &count);
  });
  const RecordedCall *with_dependencies = nullptr;
  for (const RecordedCall &call : recording.calls())
    if (cushim_entry(call.slot)->base == std::string_view("cuGraphAddEmptyNode")) with_dependencies = &call;
  ASSERT_NE(with_dependencies, nullptr);
  EXPECT_EQ(bytes_of_item(with_dependencies->after, 2).size(), 2 * sizeof(CUgraphNode));
  const RecordedCall &roots = call_of(recording, "cuGraphGetRootNodes");
  EXPECT_EQ(bytes_of_item(roots.before, 2).size(), sizeof(std::size_t));
  EXPECT_EQ(bytes_of_item(roots.after, 1).size(), 2 * sizeof(CUgraphNode));
}

TEST_F(Recorder, Calls_of_threads_are_in_their_order_with_begin_and_end) {
  const Recording recording = Recording::read(record([&](Driver &driver) {
    int count = 0, version = 0;
    driver.cuInit(0);
    for (int i = 0; i < 50; ++i) {
      std::thread([&] { driver.cuDeviceGetCount(&count); }).join();
      driver.cuDriverGetVersion(&version);
    }
  }));
  ASSERT_EQ(recording.calls().size(), 101U);
  EXPECT_EQ(recording.system_threads().size(), 51U);
  for (std::size_t i = 1; i < recording.calls().size(); ++i) {
    EXPECT_EQ(recording.calls()[i].begin, recording.calls()[i - 1].end + 1);
    EXPECT_EQ(recording.calls()[i].thread == 1, i % 2 == 0);
  }
}

TEST_F(Recorder, Parameters_of_a_kernel_are_recorded) {
  constexpr const char *kPtx =
      ".version 7.0\n.target sm_52\n.address_size 64\n"
      ".visible .entry k(.param .u64 a, .param .u32 b) { ret; }\n";
  const Recording recording = recording_of([&](Driver &driver) {
    const CUfunction kernel = kernel_of(driver, kPtx, "k");
    std::uint64_t a = 0x1122334455667788;
    std::uint32_t b = 7;
    void *parameters[] = {&a, &b};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  });
  EXPECT_EQ(bytes_of_item(call_of(recording, "cuModuleLoadData").after, 1),
            std::string_view(kPtx, std::strlen(kPtx) + 1));
#if CUDA_VERSION >= 12040
  EXPECT_EQ(bytes_of_item(call_of(recording, "cuLaunchKernel").after, 9),
            std::string_view("\x08\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\x04\0\0\0\7\0\0\0", 20));
#endif
}

TEST_F(Recorder, Options_that_the_driver_does_not_read_need_not_exist) {
  constexpr const char *kPtx =
      ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
  const Recording recording = Recording::read(record([&](Driver &driver) {
    make_context(driver);
    CUmodule module = nullptr;
    CUDA_KERNEL_NODE_PARAMS node{};
    CUgraph graph = nullptr;
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&node.func, module, "k"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    void *none[] = {nullptr};
    node.kernelParams = none;
    node.extra = reinterpret_cast<void **>(std::uintptr_t{1});
    EXPECT_EQ(driver.cuGraphAddKernelNode(&made, graph, nullptr, 0, &node), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchKernel(node.func, 1, 1, 1, 1, 1, 1, 0, nullptr, none, node.extra), CUDA_SUCCESS);
  }));
  EXPECT_EQ(bytes_of_item(call_of(recording, "cuLaunchKernel").after, 10), "");
  const cushim::sim::Machine machine;
  const auto report = cushim::replay::play(recording, machine.driver());
  EXPECT_EQ(report.replayed, recording.calls().size());
  EXPECT_THAT(report.differences, IsEmpty());
}

#if CUDA_VERSION >= 12040
TEST_F(Recorder, Parameters_of_a_CUkernel_are_recorded_if_the_driver_does_not_take_it_for_a_function) {
  constexpr const char *kPtx =
      ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k(.param .u32 a) { ret; }\n";
  const sim::Machine machine;
  Driver &driver = machine.driver();
  const auto refuses = hook::replace<&cuFuncGetParamInfo>(
      driver,
      [](CUfunction, std::size_t, std::size_t *, std::size_t *) { return CUDA_ERROR_INVALID_HANDLE; });
  {
    const replay::Recorder recorder(driver, file_);
    make_context(driver);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    EXPECT_EQ(driver.cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
    std::uint32_t a = 7;
    void *parameters[] = {&a};
    EXPECT_EQ(driver.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                    parameters, nullptr),
              CUDA_SUCCESS);
  }
  const Recording recording = Recording::read(file_);
  EXPECT_EQ(bytes_of_item(call_of(recording, "cuLaunchKernel").after, 9),
            std::string_view("\x04\0\0\0\7\0\0\0", 8));
}
#endif

TEST_F(Recorder, A_recording_is_written_in_words_as_a_trace_is) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemsetD8(memory + 16, 7, 100);
  });
  std::ostringstream text;
  trace::write_text(recording.trace(), text);
  EXPECT_THAT(text.str(), HasSubstr("[1] cuMemAlloc_v2(dptr -> memory#1, bytesize=4096) = CUDA_SUCCESS"));
  EXPECT_THAT(text.str(),
              HasSubstr("[1] cuMemsetD8_v2(dstDevice=memory#1 + 16, uc=7, N=100) = CUDA_SUCCESS"));
}

TEST_F(Recorder, A_child_of_fork_adds_nothing_and_the_recording_can_be_flushed_more_than_once) {
  const sim::Machine machine;
  replay::Recorder recorder(machine.driver(), file_);
  machine.driver().cuInit(0);
  recorder.flush();
  EXPECT_EQ(Recording::read(file_).calls().size(), 1U);
  if (const pid_t child = fork(); child == 0) {
    int count = 0;
    machine.driver().cuDeviceGetCount(&count);
    recorder.flush();
    _exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  int version = 0;
  machine.driver().cuDriverGetVersion(&version);
  recorder.flush();
  const Recording recording = Recording::read(file_);
  EXPECT_EQ(recording.calls().size(), 2U);
  EXPECT_TRUE(recording.is_complete());
}

}  // namespace
}  // namespace cushim::test
