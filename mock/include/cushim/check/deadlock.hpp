// SPDX-License-Identifier: Apache-2.0
// Reports calls that wait for an event that never happens, and what they wait for.
//
//   check::Deadlock deadlock(driver);
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <chrono>
#include <functional>

namespace cushim::check {

// Rules:
//   host-function   A host function calls the driver, which CUDA forbids: the call fails, or waits for work
//                   that waits for the host function. Certain. Queries are allowed.
//   never           A blocking call returned CUDA_ERROR_LAUNCH_TIMEOUT while streams wait for memory values
//                   or host functions. The simulated driver returns this code if nothing can end the wait:
//                   certain there.
//   still-waits     A call has blocked longer than `patience` while streams wait for memory values or host
//                   functions. On a real driver another thread, another process or a kernel may still end
//                   the wait: the call continues.
// A finding lists the blocked call and the waits that the streams are in, as far as the host can see them.
// Makes the driver calls of check::Hazards. From the first memory value or host function that a stream may
// wait for, the checker has one thread, which checks the blocked calls twice per `patience`.
class Deadlock final : public StatefulChecker {
 public:
  // Called with each still-waits finding at once, since the program may never end. Default: writes it to
  // stderr.
  using Report = std::function<void(const Finding &)>;
  explicit Deadlock(Driver &driver, std::chrono::milliseconds patience = std::chrono::seconds(10),
                    Report report = {});
};

}  // namespace cushim::check
