// SPDX-License-Identifier: Apache-2.0
// Records a program on the simulated driver.
#pragma once

#include <gtest/gtest.h>
#include <cushim/replay/recorder.hpp>
#include <cushim/replay/recording.hpp>
#include <cushim/sim/machine.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "support/folder.hpp"

namespace cushim::test {

using replay::RecordData;
using replay::Recording;

class Recorded : public testing::Test {
 protected:
  using Program = std::function<void(Driver &driver)>;

  // Returns the recording's file.
  std::string record(const Program &program, RecordData data = replay::RecordData::full) {
    const sim::Machine machine;
    const replay::Recorder recorder(machine.driver(), file_, data);
    program(machine.driver());
    return file_;
  }
  // Records a program that begins with a current context. Returns the recording.
  Recording recording_of(const Program &program, RecordData data = RecordData::full) {
    return Recording::read(record(
        [&](Driver &driver) {
          make_context(driver);
          program(driver);
        },
        data));
  }

  static void make_context(Driver &driver) {
    CUcontext context = nullptr;
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  // Loads PTX into a module, which is unloaded with the context. Returns a kernel of it.
  static CUfunction kernel_of(Driver &driver, const char *ptx, const char *name) {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&kernel, module, name), CUDA_SUCCESS);
    return kernel;
  }

  static unsigned *pinned(Driver &driver) {
    void *memory = nullptr;
    EXPECT_EQ(driver.cuMemHostAlloc(&memory, 4096, 0), CUDA_SUCCESS);
    return static_cast<unsigned *>(memory);
  }
  static CUstream stream(Driver &driver) {
    CUstream stream = nullptr;
    EXPECT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
  }
  static CUgraph graph(Driver &driver) {
    CUgraph made = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }
  static CUgraphExec instantiated(Driver &driver, CUgraph graph) {
    CUgraphExec made = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&made, graph, 0), CUDA_SUCCESS);
    return made;
  }
  static unsigned word_at(Driver &driver, CUdeviceptr address) {
    unsigned word = 0;
    EXPECT_EQ(driver.cuMemcpyDtoH(&word, address, sizeof word), CUDA_SUCCESS);
    return word;
  }

  static std::string bytes_of(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const Folder folder_;
  const std::string file_ = folder_.path("program.record");
};

}  // namespace cushim::test
