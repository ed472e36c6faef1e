// SPDX-License-Identifier: Apache-2.0
// Cases: a call, in a situation, with one changed argument or none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../chosen_driver.hpp"
#include "calls.hpp"

namespace arguments {

enum class Situation {
  plain,      // the context is current
  no_context  // no context is current
};

struct Case {
  std::string name;  // "plain cuMemAlloc_v2 bytesize=0"; "plain cuMemAlloc_v2 unchanged"
  const Call *call;
  Situation situation;
  std::optional<ChangedArgument> changed;
};

// Returns the cases of all calls, in an order that stays the same.
const std::vector<Case> &all_cases();

// Runs cases in this process.
class Runner {
 public:
  explicit Runner(const std::string &driver);

  // Returns "CODE", then " then=CODE" if the context has an error afterwards, " current=..." if the call has
  // changed the current context, and " name=value" for each number that it has written.
  std::string answer(const Case &one);
  // Returns false if a context has an error that stays: the next cases need another process.
  bool is_usable() const { return is_usable_; }
  std::string description() const { return chosen_.description(); }

 private:
  CUresult state_of_context();
  std::string changed_context(Situation situation, CUcontext context);
  void set_only_context(CUcontext context);

  differential::ChosenDriver chosen_;
  const cushim::Driver &driver_;
  CUcontext primary_ = nullptr;
  bool is_usable_ = true;
};

}  // namespace arguments
