// SPDX-License-Identifier: Apache-2.0
// Traces of calls of the simulated driver.
#pragma once

#include <gtest/gtest.h>
#include <cushim/sim/machine.hpp>
#include <cushim/trace/trace.hpp>
#include <cushim/trace/tracer.hpp>

#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/folder.hpp"

namespace cushim::test {

using sim::Machine;
using trace::Trace;
using trace::Tracer;

class TraceFile : public testing::Test {
 protected:
  TraceFile() {
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
  const std::string file_ = folder_.path("calls.trace");
};

}  // namespace cushim::test
