// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/hazards.hpp>

#include "hazards/follower.hpp"

namespace cushim::check {

namespace {

struct HazardsState final : CheckerState, Follower {
  HazardsState(Driver &driver, HazardOptions options)
      : Follower(
            driver, [this](Finding finding) { findings.add(std::move(finding)); }, std::move(options)) {}

  void finish() override {
    const std::lock_guard lock(mutex);
    model.finish();
    graphs.review();
  }
  void stop() override { leave(); }
};

}  // namespace

Hazards::Hazards(Driver &driver, HazardOptions options)
    : StatefulChecker("hazards", following<HazardsState>(driver, std::move(options))) {}

}  // namespace cushim::check
