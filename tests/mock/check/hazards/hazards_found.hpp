// SPDX-License-Identifier: Apache-2.0
// A fixture of tests of the rules of the hazard checker.
#pragma once

#include <gtest/gtest.h>
#include <cushim/check/hazards.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/sim/machine.hpp>

#include <string>
#include <vector>

#include "hazards/hazard_model.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::check {

using sim::need;
using sim::Running;

class HazardsFound : public ::testing::Test {
 protected:
  // Returns the violated rules, in the order of their first violation.
  std::vector<std::string> rules() {
    std::vector<std::string> names;
    for (const Finding &finding : checker.finish()) names.push_back(finding.rule);
    return names;
  }
  std::string words() {
    std::string all;
    for (const Finding &finding : checker.finish()) all += finding.to_text();
    return all;
  }

  // Orders work of a stream after the earlier work of another one.
  void order(CUstream earlier, CUstream later) const {
    need(driver().cuEventRecord(event, earlier));
    need(driver().cuStreamWaitEvent(later, event, 0));
  }
  // Returns a word of device memory that is 0. The stream waits until it is 1.
  CUdeviceptr word_that_holds(CUstream stream) const {
    const CUdeviceptr word = running.memory();
    need(driver().cuMemsetD32(word, 0, 1));
    need(driver().cuCtxSynchronize());
    need(driver().cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    return word;
  }
  // The same for pinned memory.
  std::uint32_t *pinned_word_that_holds(CUstream stream) const {
    std::uint32_t *const word = running.pinned();
    *word = 0;
    need(driver().cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word), 1,
                                      CU_STREAM_WAIT_VALUE_EQ));
    return word;
  }
  // Returns pinned memory that stream a copies.
  std::uint32_t *copied_pinned_memory() const {
    std::uint32_t *const words = running.pinned(64);
    words[0] = 1;
    need(driver().cuMemcpyHtoDAsync(memory, words, 256, a));
    return words;
  }
  // Ends all work, so that the checker knows what kernels accessed. Returns the violated rules.
  std::vector<std::string> found() {
    need(driver().cuCtxSynchronize());
    return rules();
  }

  Running running{{.schedule = sim::Schedule::deferred}};
  Hazards checker{driver()};
  const CUstream a = running.stream(), b = running.stream();
  const CUevent event = running.event();
  const CUdeviceptr memory = running.memory(), other = running.memory();
};

using Names = std::vector<std::string>;
inline const Names kNone;
inline const Names kUnordered{"unordered"};

}  // namespace cushim::check
