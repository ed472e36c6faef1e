// SPDX-License-Identifier: Apache-2.0
// Finds hazards of streams: uses of the same bytes with no order between them.
//
//   check::Hazards hazards(driver);
//   ...
//   for (const check::Finding &finding : hazards.finish()) std::cerr << finding;
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <memory>

namespace cushim::check {

// Rules:
//   unordered               two streams use the same bytes, one of them writes, and neither stream order,
//   events,
//                           waits of the host nor words of stream memory operations say which comes first
//   use-before-allocation   memory of cuMemAllocAsync is used by a stream that does not come after the
//   allocation free-while-used         cuMemFreeAsync does not come after a use of the memory use-after-free
//   memory is used after cuMemFreeAsync pinned-source-changed   the program changed pinned memory that a copy
//   may still have been reading
// They hold for the order that the program asks for, whether or not it went wrong this time. In doubt nothing
// is found: what counts as order beyond streams and events, and what is not seen, stands in docs/checkers.md.
//
// Driver calls of its own: cuCtxGetCurrent for calls on the null stream; cuStreamGetFlags and cuStreamGetCtx
// for a stream that was made before it; cuMemGetAddressRange for memory of another process.
class Hazards final : public Checker {
 public:
  explicit Hazards(Driver &driver);
  ~Hazards() override;

  std::string_view name() const noexcept override { return "hazards"; }
  std::vector<Finding> findings() const override;
  std::vector<Finding> finish() override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cushim::check
