// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/hazards.hpp>

#include "hazards/follower.hpp"

namespace cushim::check {

struct Hazards::State final : Follower {
  explicit State(Driver &driver)
      : Follower(driver, [this](Finding finding) { findings.add(std::move(finding)); }) {}

  Findings findings;
};

Hazards::Hazards(Driver &driver) : state_(std::make_shared<State>(driver)) { state_->follow(); }

Hazards::~Hazards() { state_->leave(); }

std::vector<Finding> Hazards::findings() const { return state_->findings.all(); }

std::vector<Finding> Hazards::finish() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->model.finish();
  }
  return findings();
}

}  // namespace cushim::check
