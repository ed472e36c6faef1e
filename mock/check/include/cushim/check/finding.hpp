// SPDX-License-Identifier: Apache-2.0
// What a checker found.
#pragma once

#include <cushim/check/place.hpp>

#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::check {

struct Finding {
  // A call that the finding is about.
  struct Call {
    std::string role;   // what it did: "made by", "destroyed by", "used by"
    std::string words;  // the exact symbol, and the arguments where they are known
    Place place;
  };

  std::string checker;      // the word that switches its checker on: "leaks"
  std::string rule;         // which of its rules: "use-after-destroy"
  std::string what;         // a sentence that names the handles
  std::vector<Call> calls;  // with their places
  std::string advice;       // what to do about it
  unsigned long count = 1;  // how often: once each for the same rule at the same places
  unsigned long bytes = 0;  // of memory, all together

  // Several lines: "misuse/use-after-destroy: ...", the calls with their places, the advice.
  std::string in_words() const;

  friend std::ostream &operator<<(std::ostream &stream, const Finding &finding) {
    return stream << finding.in_words();
  }
};

// The findings of a checker. All functions from any thread.
class Findings {
 public:
  // Counts it with an earlier one of the same rule, entry points and places.
  void add(Finding finding);
  std::vector<Finding> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Finding> findings_;
};

// What all checkers can do. A checker is on while it lives, for all threads and for objects that exist
// already.
class Checker {
 public:
  virtual ~Checker() = default;
  Checker(const Checker &) = delete;
  Checker &operator=(const Checker &) = delete;

  // The word that switches it on.
  virtual std::string_view name() const noexcept = 0;
  // What was found so far.
  virtual std::vector<Finding> findings() const = 0;
  // Says that the program has done its work: what must be over by now is judged. Returns all findings.
  virtual std::vector<Finding> finish() = 0;

 protected:
  Checker() = default;
};

}  // namespace cushim::check
