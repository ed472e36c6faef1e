// SPDX-License-Identifier: Apache-2.0
// The result type and the interface of checkers.
#pragma once

#include <cushim/check/call_stack.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cushim::check {

// A defect of the program: the rule, the calls with their call stacks, and advice.
struct Finding {
  // A call that the finding is about.
  struct Call {
    std::string role;  // what the call did: "created by", "destroyed by", "used by"
    std::string text;  // the exact symbol, and the arguments if they are known
    CallStack call_stack;
  };

  std::string checker;      // name of the checker that found it: "leaks"
  std::string rule;         // which rule of the checker: "use-after-destroy"
  std::string what;         // one sentence that names the handles
  std::vector<Call> calls;  // the calls involved
  std::string advice;       // how to fix it
  unsigned long count = 1;  // occurrences of this rule with the same call stacks
  unsigned long bytes = 0;  // total memory concerned, in bytes

  // Returns several lines: "misuse/use-after-destroy: ...", the calls with their call stacks, the advice.
  std::string to_text() const;

  friend std::ostream &operator<<(std::ostream &stream, const Finding &finding) {
    return stream << finding.to_text();
  }
};

// Sets the function that receives each finding when it is found, also one that equals an earlier one; empty
// for none. It is called on the thread that found it, often inside a call of the driver, and must make no
// such call. Requires that no other thread uses the driver.
void set_finding_listener(std::function<void(const Finding &)> listener);

// The findings of a checker. Thread-safe.
class Findings {
 public:
  // Adds a finding, or its counts to an earlier finding of the same rule, entry points and call stacks.
  void add(Finding finding);
  std::vector<Finding> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Finding> findings_;
};

// The interface of all checkers. A checker is enabled while the object exists, for all threads, including
// for CUDA objects that already exist.
class Checker {
 public:
  virtual ~Checker() = default;
  Checker(const Checker &) = delete;
  Checker &operator=(const Checker &) = delete;

  // Returns the name that enables the checker.
  virtual std::string_view name() const noexcept = 0;
  // Returns the findings so far.
  virtual std::vector<Finding> findings() const = 0;
  // Marks the end of the program's work: checks what must be destroyed or finished by now. Returns all
  // findings.
  virtual std::vector<Finding> finish() = 0;

 protected:
  Checker() = default;
};

// The hooks and findings of one of cushim's checkers.
struct CheckerState {
  virtual ~CheckerState() = default;
  // Returns the findings so far.
  virtual std::vector<Finding> all() { return findings.all(); }
  // Adds findings about what must be destroyed or finished by now.
  virtual void finish() {}
  // Called when the checker is destroyed, after which calls that are in the driver may still use the state.
  virtual void stop() {}

  Findings findings;
};

// The base of cushim's checkers.
class StatefulChecker : public Checker {
 public:
  ~StatefulChecker() override { state_->stop(); }
  std::string_view name() const noexcept final { return name_; }
  std::vector<Finding> findings() const final { return state_->all(); }
  std::vector<Finding> finish() final {
    state_->finish();
    return findings();
  }

 protected:
  // name must have static storage duration.
  StatefulChecker(std::string_view name, std::shared_ptr<CheckerState> state)
      : name_(name), state_(std::move(state)) {}

 private:
  std::string_view name_;
  std::shared_ptr<CheckerState> state_;
};

}  // namespace cushim::check
