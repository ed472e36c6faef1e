// SPDX-License-Identifier: Apache-2.0
// The driver that libcuda.so.1 presents to the program: a simulated machine, or another library.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/operations.hpp>
#include <cushim/sim/kernel_profile.hpp>
#include <cushim/sim/usage.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cushim::sim {

class ChosenDriver {
 public:
  ChosenDriver() = default;
  virtual ~ChosenDriver() = default;
  ChosenDriver(const ChosenDriver &) = delete;
  ChosenDriver &operator=(const ChosenDriver &) = delete;

  virtual Driver &driver() const noexcept = 0;
  // Returns the path of the library that receives the calls; empty for the simulated driver.
  virtual std::string path() const = 0;
  virtual bool has_faults() const noexcept = 0;
  // Returns a function for the virtual time; empty if there is none.
  virtual std::function<std::chrono::nanoseconds()> virtual_time() const = 0;
  // Sets the observer of operations of the simulated driver; null: none. Does nothing for other drivers.
  virtual void observe(mock::OperationObserver *) {}
  // Counts calls from now on, by a hook on each entry point if the driver itself does not count. Calls that
  // hooks installed before make are not counted.
  virtual void count_calls() = 0;
  // Returns what the program did; for a driver with a path(), only counted calls and injected faults.
  virtual Usage usage() const = 0;
  // Returns what the kernels did; only the simulated driver knows it.
  virtual std::vector<KernelProfile> kernel_profiles() const { return {}; }
};

// Makes a simulated machine. `applies_faults` tells whether CUSHIM_FAULTS is for this library. Throws
// std::invalid_argument for variables that cannot be parsed.
std::unique_ptr<ChosenDriver> make_simulated(bool applies_faults);

// Opens the library at an absolute path, which must not be this file, and forwards every call to it. Throws
// std::runtime_error if the library is not a driver, and std::invalid_argument for CUSHIM_FAULTS that cannot
// be applied to it.
std::unique_ptr<ChosenDriver> make_interposed(const std::string &path);

}  // namespace cushim::sim
