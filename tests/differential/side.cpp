// SPDX-License-Identifier: Apache-2.0
#include "side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "workers.hpp"

namespace differential {

Side::Side(std::string name, std::uint64_t settle, bool is_traced, Subject subject)
    : name_(std::move(name)), settle_(settle), is_traced_(is_traced) {
  if (subject == Subject::processes || subject == Subject::blocks)
    partner_ = std::make_unique<Partner>([this](Partner &partner) {
      begin();
      const cushim::ScopedDriver scope(*driver_);
      partner.serve(*shared_);
    });
}

void Side::begin() {
  chosen_ = std::make_unique<ChosenDriver>(name_);
  driver_ = &chosen_->driver();
  std::function<std::size_t()> settle = time_to_settle(settle_);
  if (cushim::sim::Machine *const machine = chosen_->machine())
    settle = [machine] {
      machine->run();
      return machine->unfinished();
    };
  const cushim::ScopedDriver scope(*driver_);
  shared_ = std::make_unique<SharedObjects>(std::move(settle));
  shared_->is_traced = is_traced_;
  about_ = chosen_->description();
}

std::vector<Step> Side::walk(std::uint64_t seed, Kind kind,
                             const std::function<bool(unsigned)> &wanted) const {
  const cushim::ScopedDriver scope(*driver_);
  if (is_traced_)
    std::cerr << fmt::format("seed {} at {} ms\n", seed,
                             std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
  Walk walk(seed, kind.subject, *shared_, 0, partner_.get());
  if (partner_ != nullptr) partner_->begin(seed, walk);
  return walk.run(kind, wanted);
}

bool Side::is_usable() const {
  const cushim::ScopedDriver scope(*driver_);
  return std::ranges::all_of(shared_->c, [this](CUcontext context) {
    CUcontext popped = nullptr;
    if (driver_->cuCtxPushCurrent(context) != CUDA_SUCCESS) return false;
    const bool is_usable = driver_->cuCtxSynchronize() == CUDA_SUCCESS;
    driver_->cuCtxPopCurrent(&popped);
    return is_usable;
  });
}

}  // namespace differential
