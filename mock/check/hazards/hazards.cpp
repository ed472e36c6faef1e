// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/hazards.hpp>

#include "hazards/follower.hpp"

namespace cushim::check {

struct Hazards::State final : Follower {
  State(Driver &driver, HazardOptions options)
      : Follower(
            driver, [this](Finding finding) { findings.add(std::move(finding)); }, std::move(options)) {}

  Findings findings;
};

Hazards::Hazards(Driver &driver, HazardOptions options)
    : state_(std::make_shared<State>(driver, std::move(options))) {
  state_->follow();
}

Hazards::~Hazards() { state_->leave(); }

std::vector<Finding> Hazards::findings() const { return state_->findings.all(); }

std::vector<Finding> Hazards::finish() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->model.finish();
    state_->graphs.review();
  }
  return findings();
}

}  // namespace cushim::check
