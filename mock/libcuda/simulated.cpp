// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/machine.hpp>

#include "chosen_driver.hpp"

namespace cushim::sim {
namespace {

class Simulated final : public ChosenDriver {
 public:
  explicit Simulated(const Options &options) : machine_(options), has_faults_(!options.faults.empty()) {}
  Driver &driver() const noexcept override { return machine_.driver(); }
  std::string path() const override { return ""; }
  bool has_faults() const noexcept override { return has_faults_; }
  std::function<std::chrono::nanoseconds()> virtual_time() const override {
    return [this] { return machine_.now(); };
  }
  void observe(mock::OperationObserver *observer) override { machine_.observe(observer); }
  void count_calls() override {}
  Usage usage() const override { return machine_.usage(); }
  std::vector<KernelProfile> kernel_profiles() const override { return machine_.kernel_profiles(); }

 private:
  Machine machine_;
  const bool has_faults_;
};

}  // namespace

std::unique_ptr<ChosenDriver> make_simulated(bool applies_faults) {
  // By default the machine works in the background, like a device.
  Options options = options_from_environment({.schedule = Schedule::background, .is_library = true});
  if (!applies_faults) options.faults.clear();
  return std::make_unique<Simulated>(options);
}

}  // namespace cushim::sim
