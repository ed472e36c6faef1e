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

class Recorded : public testing::Test {
 protected:
  using Program = std::function<void(cushim::Driver &driver)>;

  // Returns the recording's file.
  std::string record(const Program &program,
                     cushim::replay::RecordData data = cushim::replay::RecordData::full) {
    const cushim::sim::Machine machine;
    const cushim::replay::Recorder recorder(machine.driver(), file_, data);
    program(machine.driver());
    return file_;
  }

  static void make_context(cushim::Driver &driver) {
    CUcontext context = nullptr;
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  static std::string bytes_of(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const Folder folder_;
  const std::string file_ = folder_.path("program.record");
};
