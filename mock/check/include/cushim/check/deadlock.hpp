// SPDX-License-Identifier: Apache-2.0
// Finds calls that wait for what does not come, and says what they wait for.
//
//   check::Deadlock deadlock(driver);
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace cushim::check {

// Rules:
//   host-function   a host function calls the driver, which must not be called there: the call is refused, or
//                   waits for work that waits for the function. Certain. Queries are let pass.
//   never           a call that waits was answered CUDA_ERROR_LAUNCH_TIMEOUT while streams wait for words or
//                   host functions: so the simulated driver answers where nothing can end the wait. Certain
//                   there.
//   still-waits     a call has waited longer than the patience while streams wait for words or host
//                   functions. On a real driver another thread, another process or a kernel may still end
//                   that: the call goes on.
// Its calls are the one that waits and the waits that the streams are in, as far as the host knows. Makes the
// driver calls of check::Hazards. From the first word or host function on that a stream may wait for it has
// one thread, which looks at the clock twice in the patience.
class Deadlock final : public Checker {
 public:
  // Told of a still-waits at once, since the program may never end; by default it is written to stderr.
  using Tell = std::function<void(const Finding &)>;
  explicit Deadlock(Driver &driver, std::chrono::milliseconds patience = std::chrono::seconds(10),
                    Tell tell = {});
  ~Deadlock() override;

  std::string_view name() const noexcept override { return "deadlock"; }
  std::vector<Finding> findings() const override;
  std::vector<Finding> finish() override { return findings(); }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cushim::check
