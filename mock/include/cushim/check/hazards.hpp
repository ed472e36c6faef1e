// SPDX-License-Identifier: Apache-2.0
// Finds data races between streams: accesses to the same bytes that no order separates.
//
//   check::Hazards hazards(driver);
//   ...
//   for (const check::Finding &finding : hazards.finish()) std::cerr << finding;
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cushim::check {

// The parameters of a kernel, by their index from 0, that are addresses of memory which the kernel reads, and
// of memory which it writes. A parameter may be both. The kernel uses no memory by other parameters.
struct KernelAccesses {
  std::vector<std::size_t> reads{}, writes{};
};

// How check::Hazards treats kernels.
struct HazardOptions {
  bool checks_kernels = true;  // if false, it ignores launches
  // Descriptions by name (of C++ kernels, the mangled name). A kernel whose PTX the simulated driver executes
  // needs none: its accesses are recorded. Of another kernel without a description, check::Hazards knows only
  // the addresses in its parameters.
  std::map<std::string, KernelAccesses, std::less<>> kernels{};
};

// Rules:
// - unordered: two streams access the same bytes, at least one of them writes, and neither stream order,
//   events, host waits nor stream memory operations order the two accesses.
// - use-before-allocation: a stream uses memory of cuMemAllocAsync without being ordered after the
//   allocation.
// - free-while-used: cuMemFreeAsync is not ordered after a use of the memory.
// - use-after-free: memory is used after cuMemFreeAsync. A call that the driver rejects as invalid is
//   checked too if it is on another stream; check::Misuse covers the same stream and the host.
// - pinned-source-changed: the program changed pinned memory while a copy might still have been reading it.
// The rules check the order that the program requests, whether or not this run went wrong. In doubt, the
// checker reports nothing. docs/guide/checkers.md lists what else counts as order and what is not checked.
//
// Driver calls: cuCtxGetCurrent for calls on the null stream; cuStreamIsCapturing, cuStreamGetFlags and
// cuStreamGetCtx for a stream that is older than the checker; cuMemGetAddressRange for memory of another
// process; cuFuncGetName and cuFuncGetParamInfo for a kernel that a driver outside of this process launches.
class Hazards final : public StatefulChecker {
 public:
  explicit Hazards(Driver &driver, HazardOptions options = {});
};

}  // namespace cushim::check
