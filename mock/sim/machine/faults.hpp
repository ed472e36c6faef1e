// SPDX-License-Identifier: Apache-2.0
// Fault injection on a machine, from Options::faults.
#pragma once

#include <cushim/faults/faults.hpp>

#include <optional>

namespace cushim::sim {

struct System;

// Parses fault rules. Throws std::invalid_argument for a syntax error and for a device that the machine does
// not have.
mock::FaultRules fault_rules(const std::string &text, std::size_t devices);

// Applies fault rules to a machine during its lifetime.
class MachineFaults final : mock::FaultyMachine {
 public:
  MachineFaults(System &system, const mock::FaultRules &rules);

  // Returns whether a rule forbids the device to have this much memory in use, and records the injected fault
  // for `call`. The caller holds the machine's lock.
  bool forbids(int device, std::size_t in_use, const char *call);

  std::vector<mock::InjectedFault> injected() const { return faults_.injected(); }

 private:
  std::chrono::nanoseconds now() const override;
  void fault(CUcontext handle, CUresult result) override;
  CUresult fault_of(CUcontext handle) override;
  void lose_device(int index, CUresult result) override;

  struct Limit {
    std::string rule;
    mock::MemoryLimit limit;
  };

  System &system_;
  std::vector<Limit> limits_;
  mock::Faults faults_;  // last, since it uses the other members until it is destroyed
};

}  // namespace cushim::sim
