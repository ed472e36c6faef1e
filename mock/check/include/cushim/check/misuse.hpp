// SPDX-License-Identifier: Apache-2.0
// Finds handles and memory that a program gives to a call that must not have them.
//
//   check::Misuse misuse(driver);
//   ...
//   EXPECT_THAT(misuse.finish(), IsEmpty());
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <memory>

namespace cushim::check {

// Rules:
//   use-after-destroy  a context, stream, event, array, memory pool or module that was destroyed, itself or
//                      with its context
//   double-destroy     the same, destroyed once more
//   wrong-kind         a handle of another kind: an event for a stream
//   wrong-context      an event recorded on a stream of another context, or compared with one of another
//   use-after-free     an address in memory that was freed: of a device, managed, of another process
//   double-free        memory freed once more, also what is pinned, registered or stream-ordered
// The real driver's behaviour with such a handle or address is undefined, so the call does not reach it.
// Its answer is CUDA_ERROR_INVALID_HANDLE; for a context INVALID_CONTEXT, for a pool and for memory
// INVALID_VALUE, for what went with its context CONTEXT_IS_DESTROYED. A wrong context the driver refuses
// itself, and memory that is unregistered or closed once more; so it does.
// What was made before the checker is not judged. What is made past cushim, by a library that looks the
// driver up itself, may be given a handle that the checker has seen destroyed.
class Misuse final : public Checker {
 public:
  // Puts hooks on the driver; throws as mock::Frame::over().
  explicit Misuse(Driver &driver);
  ~Misuse() override;

  std::string_view name() const noexcept override { return "misuse"; }
  std::vector<Finding> findings() const override;
  // The same: a misuse is found when it happens.
  std::vector<Finding> finish() override { return findings(); }

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cushim::check
