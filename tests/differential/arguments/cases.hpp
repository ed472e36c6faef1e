// SPDX-License-Identifier: Apache-2.0
// Cases: a call, in a situation, with none, one or two changes of its arguments.
#pragma once

#include <string>
#include <vector>

#include "../chosen_driver.hpp"
#include "calls.hpp"
#include "situations.hpp"

namespace arguments {

struct Case {
  std::string name;  // "plain cuMemAlloc_v2 dptr=null bytesize=0"; "plain cuMemAlloc_v2 unchanged"
  const Call *call;
  Situation situation;
  std::vector<ChangedArgument> changed;
};

// Returns the cases of all calls, in an order that stays the same.
const std::vector<Case> &all_cases();

// Runs cases in this process.
class Runner {
 public:
  explicit Runner(const std::string &driver);

  // Returns "CODE", then " then=CODE" if the context has an error afterwards, what CallMaker::seen() returns,
  // and " name=value" for each number that the call has written.
  std::string answer(const Case &one);
  // Returns false if a context has an error that stays: the next cases need another process.
  bool is_usable() const { return is_usable_; }
  std::string description() const { return chosen_.description(); }

 private:
  CUresult state_of_context();
  void set_only_context(CUcontext context);

  differential::ChosenDriver chosen_;
  const cushim::Driver &driver_;
  CUcontext primary_ = nullptr;
  bool is_usable_ = true;
};

}  // namespace arguments
