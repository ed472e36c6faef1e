// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cushim/sim/machine.hpp>

#include "api/call.hpp"

#include <stdexcept>
#include <vector>

namespace cushim::sim {

Machine::Machine(const Options &options) : system_(std::make_unique<System>(options)) {}

// A child of fork() has none of the machine's threads, and locks that other threads held at the fork stay
// locked. The child therefore leaks the machine instead of destroying it; the parent destroys its own copy.
Machine::~Machine() {
  if (system_->process == getpid()) return;
  static auto &left =
      *new std::vector<std::unique_ptr<System>>;  // NOLINT(bugprone-unhandled-exception-at-new)
  left.push_back(std::move(system_));
}

Usage Machine::usage() const { return system_->usage(); }

Driver &Machine::driver() const noexcept { return system_->driver_slot.driver(); }

bool Machine::step() {
  Engine::Lock lock(system_->mutex);
  return system_->engine.step(lock);
}

void Machine::run() {
  Engine::Lock lock(system_->mutex);
  system_->engine.run_all(lock);
}

std::size_t Machine::unfinished() const {
  const std::lock_guard lock(system_->mutex);
  return system_->engine.unfinished();
}

std::chrono::nanoseconds Machine::now() const {
  const std::lock_guard lock(system_->mutex);
  return std::chrono::nanoseconds(system_->engine.now());
}

void Machine::observe(mock::OperationObserver *observer) {
  const std::lock_guard lock(system_->mutex);
  system_->engine.observe(observer);
}

std::vector<KernelProfile> Machine::kernel_profiles() const {
  const std::lock_guard lock(system_->mutex);
  return system_->kernel_profiles.profiles();
}

std::string Machine::order() const {
  const std::lock_guard lock(system_->mutex);
  return system_->engine.order();
}

namespace {

Stream &stream_of(Call &call, CUstream handle) {
  try {
    return call.stream(handle);
  } catch (const CallError &error) {
    throw std::invalid_argument(std::string(call.name) + ": the stream is not valid (CUresult " +
                                std::to_string(error.code) + ")");
  }
}

class GateCondition final : public Condition {
 public:
  explicit GateCondition(std::shared_ptr<const std::atomic<bool>> is_open) noexcept
      : Condition(ChangedBy::anyone), is_open_(std::move(is_open)) {}
  bool holds() const override { return *is_open_; }
  std::string to_text() const override { return "the test to open it"; }

 private:
  const std::shared_ptr<const std::atomic<bool>> is_open_;
};

}  // namespace

void Machine::name(CUstream handle, std::string name) {
  Call call(*system_, "Machine::name", false);
  system_->engine.name_stream(stream_of(call, handle).id, std::move(name));
}

Gate Machine::gate(CUstream handle) {
  Call call(*system_, "gate", false);
  auto is_open = std::make_shared<std::atomic<bool>>(false);
  call.enqueue(stream_of(call, handle), {.condition = std::make_unique<GateCondition>(is_open)});
  return Gate(std::move(is_open));
}

void Machine::add_kernel(std::string name, RegisteredKernel kernel) {
  const Engine::Lock lock(system_->mutex);
  system_->kernels[std::move(name)] = std::make_shared<const RegisteredKernel>(std::move(kernel));
}

void Machine::lose_device(int index, CUresult fault) {
  const Engine::Lock lock(system_->mutex);
  system_->lose_device(*system_->devices.at(static_cast<std::size_t>(index)), fault);
}

}  // namespace cushim::sim
