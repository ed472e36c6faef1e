// SPDX-License-Identifier: Apache-2.0
// The driver that --driver names.
#pragma once

#include <cushim/sim/machine.hpp>

#include <memory>
#include <string>

namespace differential {

class ChosenDriver {
 public:
  // Loads "sim", "real" or a library. Throws std::runtime_error with the diagnosis if it cannot be loaded.
  explicit ChosenDriver(const std::string &name);

  cushim::Driver &driver() const { return *driver_; }
  // Returns null unless the driver is simulated in this process.
  cushim::sim::Machine *machine() const { return machine_.get(); }
  // Returns "version 13000, NVIDIA H200". The driver must be initialized.
  std::string description() const;

 private:
  std::unique_ptr<cushim::sim::Machine> machine_;
  cushim::Driver *driver_ = nullptr;
};

}  // namespace differential
