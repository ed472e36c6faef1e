// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/machine.hpp>

#include "system.hpp"

namespace cushim::sim {

Machine::Machine(const Options &options) : system_(std::make_unique<System>(options)) {}
Machine::~Machine() = default;

Driver &Machine::driver() const noexcept { return system_->frame.driver(); }

bool Machine::step() {
  Engine::Lock lock(system_->mutex);
  return system_->engine.step(lock);
}

void Machine::run() {
  Engine::Lock lock(system_->mutex);
  while (system_->engine.step(lock)) {
  }
}

std::size_t Machine::unfinished() const {
  const std::lock_guard lock(system_->mutex);
  return system_->engine.unfinished();
}

std::chrono::nanoseconds Machine::now() const {
  const std::lock_guard lock(system_->mutex);
  return std::chrono::nanoseconds(system_->engine.now());
}

std::string Machine::order() const {
  const std::lock_guard lock(system_->mutex);
  return system_->engine.order();
}

}  // namespace cushim::sim
