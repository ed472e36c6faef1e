// SPDX-License-Identifier: Apache-2.0
// What is to go wrong on a machine, by Options::faults.
#pragma once

#include <cushim/mock/faults.hpp>

#include <optional>

namespace cushim::sim {

struct System;

// The rules that a machine's options have. Throws std::invalid_argument if they cannot be understood, or name
// a device that the machine does not have.
mock::FaultRules fault_rules(const std::string &text, std::size_t devices);

// Lets the rules act on a machine while it lives.
class MachineFaults final : mock::FaultyMachine {
 public:
  MachineFaults(System &system, const mock::FaultRules &rules);

  // Whether a rule forbids a device to have this much memory in use; notes that for the report. `call` wants
  // the memory. The machine's lock is held.
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
  mock::Faults faults_;  // last: it uses the rest until it ends
};

}  // namespace cushim::sim
