// SPDX-License-Identifier: Apache-2.0
// Makes calls of a driver fail, by rules. Of any driver, the real one included: hooks.
//
//   Faults faults(driver, parse_fault_rules("cuMemAlloc:3=OUT_OF_MEMORY"));
//
// Rules about memory and devices are for the simulated driver: sim::Options::faults, which takes all.
// docs/faults.md tells what the rules mean.
#pragma once

#include <cushim/check/place.hpp>
#include <cushim/mock/fault_rules.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace mock {

// A fault that a rule has brought about.
struct InjectedFault {
  std::string rule;  // as it was written
  std::string call;  // the exported symbol whose call it struck
  std::uint64_t number =
      0;  // of that call, among those that the rule counts; of a limit, how often it struck
  CUresult result = CUDA_SUCCESS;
  bool is_late = false;
  check::Place place;   // where the program made that call
  std::string told_by;  // the call that was answered it; of a late one that nobody asked for, empty

  // "cuMemAlloc_v2, call 3: CUDA_ERROR_OUT_OF_MEMORY (cuMemAlloc:3=OUT_OF_MEMORY)"
  std::string in_words() const;
};

// What a rule needs of the machine behind a driver, where it is a simulated one.
class FaultyMachine {
 public:
  virtual ~FaultyMachine() = default;
  virtual std::chrono::nanoseconds now() const = 0;
  // From now on all calls in the context are answered the fault.
  virtual void fault(CUcontext context, CUresult result) = 0;
  // CUDA_SUCCESS if none.
  virtual CUresult fault_of(CUcontext context) = 0;
  // For good.
  virtual void lose_device(int index, CUresult result) = 0;
};

// The rules act while it lives, on all threads. All functions from any thread.
class Faults {
 public:
  // Throws std::invalid_argument if a rule is about memory or devices, and as mock::Frame::over().
  Faults(Driver &driver, const FaultRules &rules);
  // Of a simulated machine; limits of memory are its own to keep, and note_limit() tells of them.
  Faults(Driver &driver, const FaultRules &rules, FaultyMachine &machine);
  ~Faults();
  Faults(const Faults &) = delete;
  Faults &operator=(const Faults &) = delete;

  // In the order in which they struck.
  std::vector<InjectedFault> injected() const;

  // A call found no memory because of a rule.
  void note_limit(const std::string &rule, const char *call);

 private:
  class Injector;
  std::unique_ptr<Injector> injector_;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
