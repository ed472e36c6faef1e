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
