// SPDX-License-Identifier: Apache-2.0
// Writes of the host to pinned memory while work is pending: in host functions, and to release a stream.
#include <gmock/gmock.h>
#include <cushim/exact.hpp>
#include <cushim/mock/hook.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include "played.hpp"

namespace cushim::test {
namespace {

using sim::Machine;
using sim::Schedule;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class HostWrites : public Player {
 protected:
  // Records a program that begins with a current context, pinned memory and a stream.
  using HostProgram = std::function<void(Driver &driver, unsigned *pinned, CUstream stream)>;
  Recording recorded(Schedule schedule, const HostProgram &program) {
    const Machine machine({.schedule = schedule});
    {
      const replay::Recorder recorder(machine.driver(), file_);
      make_context(machine.driver());
      program(machine.driver(), pinned(machine.driver()), stream(machine.driver()));
    }
    return Recording::read(file_);
  }

  static void expect_equal_in_each_schedule(const Recording &recording) {
    for (const Schedule schedule : {Schedule::eager, Schedule::deferred, Schedule::background}) {
      const Machine machine({.schedule = schedule});
      const auto report = play(recording, machine.driver(), {.patience = std::chrono::seconds(5)});
      for (const auto &difference : report.differences)
        ADD_FAILURE() << sim::name_of(schedule) << ": "
                      << cushim_entry(recording.calls()[difference.call].slot)->symbol << ": "
                      << difference.what << ": " << difference.recorded << ", now " << difference.replayed;
      EXPECT_EQ(report.replayed, recording.calls().size());
      EXPECT_THAT(report.partly_replayed, IsEmpty());
      EXPECT_FALSE(report.stuck);
    }
  }

  static CUresult wait_for(Driver &driver, CUstream stream, unsigned *word, unsigned value = 5) {
    return driver.cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word), value,
                                      CU_STREAM_WAIT_VALUE_EQ);
  }
  static void set_to_7(void *word) { std::atomic_ref(*static_cast<unsigned *>(word)).store(7); }
};

TEST_F(HostWrites, Of_a_host_function_are_made_before_the_next_work_of_its_stream) {
  for (const Schedule schedule : {Schedule::eager, Schedule::deferred, Schedule::background})
    expect_equal_in_each_schedule(recorded(schedule, [](Driver &driver, unsigned *from, CUstream in) {
      CUdeviceptr memory = 0;
      driver.cuMemAlloc(&memory, 4);
      from[100] = 1;
      driver.cuLaunchHostFunc(in, set_to_7, from + 100);
      driver.cuMemcpyHtoDAsync(memory, from + 100, 4, in);
      driver.cuStreamSynchronize(in);
      EXPECT_EQ(word_at(driver, memory), 7U);
    }));
}

TEST_F(HostWrites, Of_a_callback_are_made) {
  expect_equal_in_each_schedule(recorded(Schedule::deferred, [](Driver &driver, unsigned *from, CUstream in) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4);
    driver.cuStreamAddCallback(
        in, [](CUstream, CUresult, void *word) { set_to_7(word); }, from, 0);
    driver.cuMemcpyHtoDAsync(memory, from, 4, in);
    driver.cuStreamSynchronize(in);
    EXPECT_EQ(word_at(driver, memory), 7U);
  }));
}

TEST_F(HostWrites, That_release_a_stream_are_made_before_the_next_call) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream in) {
        wait_for(driver, in, flag);
        EXPECT_EQ(driver.cuStreamQuery(in), CUDA_ERROR_NOT_READY);
        std::atomic_ref(*flag).store(5);
        EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
      }));
}

TEST_F(HostWrites, That_release_a_stream_are_made_if_work_of_any_memory_follows_the_wait) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream in) {
        const CUgraphExec executable = instantiated(driver, graph(driver));
        wait_for(driver, in, flag);
        EXPECT_EQ(driver.cuGraphLaunch(executable, in), CUDA_SUCCESS);
        std::atomic_ref(*flag).store(5);
        EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
      }));
}

TEST_F(HostWrites, That_release_a_stream_are_made_if_other_work_may_use_the_memory) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream waiting) {
        const CUstream other = stream(driver);
        const CUgraphExec executable = instantiated(driver, graph(driver));
        wait_for(driver, waiting, flag);
        EXPECT_EQ(driver.cuGraphLaunch(executable, other), CUDA_SUCCESS);
        std::atomic_ref(*flag).store(5);
        EXPECT_EQ(driver.cuStreamSynchronize(waiting), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuStreamSynchronize(other), CUDA_SUCCESS);
      }));
}

TEST_F(HostWrites, To_the_source_of_a_copy_behind_a_wait_are_made_before_the_stream_is_released) {
  for (const bool has_rows : {false, true})
    expect_equal_in_each_schedule(
        recorded(Schedule::background, [&](Driver &driver, unsigned *flag, CUstream in) {
          unsigned *const from = pinned(driver);
          CUdeviceptr memory = 0;
          driver.cuMemAlloc(&memory, 4);
          from[1] = 1;
          wait_for(driver, in, flag);
          CUDA_MEMCPY2D rows{};
          rows.srcMemoryType = CU_MEMORYTYPE_HOST;
          rows.srcHost = from + 1;
          rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
          rows.dstDevice = memory;
          rows.WidthInBytes = 4;
          rows.Height = 1;
          EXPECT_EQ(has_rows ? driver.cuMemcpy2DAsync(&rows, in)
                             : driver.cuMemcpyHtoDAsync(memory, from + 1, 4, in),
                    CUDA_SUCCESS);
          from[1] = 2;
          std::atomic_ref(*flag).store(5);
          EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
          EXPECT_EQ(word_at(driver, memory), 2U);
        }));
}

TEST_F(HostWrites, That_release_a_stream_are_made_after_a_wait_for_another_context) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream in) {
        CUcontext other = nullptr;
        wait_for(driver, in, flag);
        EXPECT_EQ(exact::cuCtxCreate_v3020(driver)(&other, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
        std::atomic_ref(*flag).store(5);
        EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
      }));
}

#if CUDA_VERSION >= 12080
TEST_F(HostWrites, Are_made_before_a_batch_of_copies) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *from, CUstream in) {
        CUdeviceptr to = 0, source = reinterpret_cast<CUdeviceptr>(from + 1);
        std::size_t size = 4, index = 0, failed = 0;
        CUmemcpyAttributes attributes{};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        driver.cuMemAlloc(&to, 4);
        from[1] = 7;
        EXPECT_EQ(exact::cuMemcpyBatchAsync_v12080(driver)(&to, &source, &size, 1, &attributes, &index, 1,
                                                           &failed, in),
                  CUDA_SUCCESS);
        driver.cuStreamSynchronize(in);
        EXPECT_EQ(word_at(driver, to), 7U);
      }));
}
#endif

TEST_F(HostWrites, That_release_a_batch_of_waits_are_made_before_the_next_call) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream in) {
        CUstreamBatchMemOpParams waits[2]{};
        for (int i = 0; i < 2; ++i) {
          waits[i].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
          waits[i].waitValue.address = reinterpret_cast<CUdeviceptr>(flag + i);
          waits[i].waitValue.value = 5;
          waits[i].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
        }
        EXPECT_EQ(driver.cuStreamBatchMemOp(in, 2, waits, 0), CUDA_SUCCESS);
        for (unsigned i = 0; i < 2; ++i) std::atomic_ref(flag[i]).store(5);
        EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
      }));
}

TEST_F(HostWrites, Of_another_thread_that_release_a_call_are_made_while_the_call_waits) {
  {
    const Machine machine({.schedule = Schedule::background});
    Driver &driver = machine.driver();
    std::atomic<bool> is_waiting{false};
    // Installed before the recorder, so it runs when the recorder has recorded the begin of the call.
    const auto waits = hook::before<&cuStreamSynchronize>(driver, [&](CUstream) {
      is_waiting = true;
      is_waiting.notify_all();
    });
    const replay::Recorder recorder(driver, file_);
    make_context(driver);
    unsigned *const flag = pinned(driver);
    const CUstream in = stream(driver);
    wait_for(driver, in, flag);
    std::thread writer([&] {
      is_waiting.wait(false);
      std::atomic_ref(*flag).store(5);
    });
    EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
    writer.join();
  }
  expect_equal_in_each_schedule(Recording::read(file_));
}

TEST_F(HostWrites, Of_a_host_function_that_releases_another_stream_are_made) {
  expect_equal_in_each_schedule(
      recorded(Schedule::background, [](Driver &driver, unsigned *flag, CUstream waiting) {
        const CUstream releasing = stream(driver);
        wait_for(driver, waiting, flag, 7);
        driver.cuLaunchHostFunc(releasing, set_to_7, flag);
        EXPECT_EQ(driver.cuStreamSynchronize(waiting), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuStreamSynchronize(releasing), CUDA_SUCCESS);
      }));
}

TEST_F(HostWrites, Of_a_host_function_that_is_captured_are_reported_as_missing) {
  const Recording recording = recorded(Schedule::eager, [](Driver &driver, unsigned *word, CUstream in) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    driver.cuStreamBeginCapture(in, CU_STREAM_CAPTURE_MODE_GLOBAL);
    driver.cuLaunchHostFunc(in, set_to_7, word);
    driver.cuStreamEndCapture(in, &graph);
    driver.cuGraphGetNodes(graph, &node, &count);
    CUDA_HOST_NODE_PARAMS parameters{};
    EXPECT_EQ(driver.cuGraphHostNodeGetParams(node, &parameters), CUDA_SUCCESS);
    EXPECT_EQ(parameters.fn, &set_to_7) << "the program sees its own function";
  });
  const Machine machine;
  EXPECT_THAT(play(recording, machine.driver()).partly_replayed,
              ElementsAre(Field(&NotReplayed::symbol, "cuLaunchHostFunc")));
}

TEST_F(HostWrites, Of_a_host_function_that_runs_after_the_recording_are_its_own) {
  const Machine machine({.schedule = Schedule::deferred});
  unsigned *word = nullptr;
  {
    const replay::Recorder recorder(machine.driver(), file_);
    make_context(machine.driver());
    word = pinned(machine.driver());
    machine.driver().cuLaunchHostFunc(nullptr, set_to_7, word);
  }
  EXPECT_EQ(machine.driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(*word, 7U);
}

}  // namespace
}  // namespace cushim::test
