// SPDX-License-Identifier: Apache-2.0
// Injects failures into driver calls, by rules. Works on any driver, the real one included, by hooks.
//
//   Faults faults(driver, parse_fault_rules("cuMemAlloc:3=OUT_OF_MEMORY"));
//
// Rules about memory and devices need the simulated driver: sim::Options::faults, which takes all rules.
// docs/guide/faults.md describes the rules.
#pragma once

#include <cushim/check/call_stack.hpp>
#include <cushim/faults/fault_rules.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cushim::mock {

// A failure that a rule has injected.
struct InjectedFault {
  std::string rule;  // text of the rule, as it was written
  std::string call;  // exported symbol of the call that failed
  // Number of that call among those that the rule counts; for a memory limit, how often the limit was hit.
  std::uint64_t number = 0;
  CUresult result = CUDA_SUCCESS;
  bool is_late = false;
  check::CallStack call_stack;  // where the program made the call
  // The call that returned the error; empty for a late failure that no call has returned.
  std::string returned_by;

  // Returns "cuMemAlloc_v2, call 3: CUDA_ERROR_OUT_OF_MEMORY (cuMemAlloc:3=OUT_OF_MEMORY)".
  std::string to_text() const;
};

// The functions of a simulated machine that rules need.
class FaultyMachine {
 public:
  virtual ~FaultyMachine() = default;
  // Returns the virtual time.
  virtual std::chrono::nanoseconds now() const = 0;
  // Makes all later calls in the context return `result`.
  virtual void fault(CUcontext context, CUresult result) = 0;
  // Returns the error of the context; CUDA_SUCCESS if none.
  virtual CUresult fault_of(CUcontext context) = 0;
  // Makes the device fail permanently.
  virtual void lose_device(int index, CUresult result) = 0;
};

// Applies the rules while it exists, on all threads. Thread-safe.
class Faults {
 public:
  // Throws std::invalid_argument if a rule is about memory or devices, and as mock::DriverSlot::over().
  Faults(Driver &driver, const FaultRules &rules);
  // For a simulated machine. The machine itself enforces memory limits and reports them by record_limit().
  Faults(Driver &driver, const FaultRules &rules, FaultyMachine &machine);
  ~Faults();
  Faults(const Faults &) = delete;
  Faults &operator=(const Faults &) = delete;

  // Returns the injected failures, in order.
  std::vector<InjectedFault> injected() const;

  // Records that a call was out of memory because of a rule.
  void record_limit(const std::string &rule, const char *call);

 private:
  class Injector;
  std::unique_ptr<Injector> injector_;
};

}  // namespace cushim::mock
