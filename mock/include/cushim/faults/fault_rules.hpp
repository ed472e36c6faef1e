// SPDX-License-Identifier: Apache-2.0
// Parses fault rules: one on each line, or separated by semicolons; # begins a comment.
//
//   cuMemAlloc:3=OUT_OF_MEMORY               the third call fails
//   cuEvent*:p0.01@seed7=LAUNCH_FAILED       each call fails with probability 0.01; the seed reproduces it
//   cuMemcpyHtoDAsync:2=ILLEGAL_ADDRESS,late the call succeeds; the next synchronizing call returns this
//   memory:2GiB                              each device is out of memory at this number of bytes in use
//   device0:lost@1.5ms                       the device is lost permanently at this virtual time
//
// docs/guide/faults.md has the full description. cushim/faults/faults.hpp and sim::Options::faults apply
// rules.
#pragma once

#include <cushim/driver.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cushim::mock {

// A range of calls by number, counted from 1 over all entry points of the rule.
struct CountedCalls {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

// Each call with this probability, reproducible by the seed.
struct RandomCalls {
  double probability = 1;
  std::uint64_t seed = 1;
};

// Makes calls fail.
struct CallFault {
  std::vector<int> slots;  // entry points of the rule, in list order
  std::variant<CountedCalls, RandomCalls> when;
  CUresult result = CUDA_SUCCESS;  // the error that the call returns; never CUDA_SUCCESS
  bool is_late = false;    // the call does its work; the next call that synchronizes returns the error
  bool is_sticky = false;  // all later calls in the context return the error
};

// A limit of the device memory in use, in bytes.
struct MemoryLimit {
  std::optional<int> device;  // index in the machine; else every device
  std::uint64_t bytes = 0;
};

// The permanent loss of a device.
struct DeviceLoss {
  int device = 0;
  // When: at a virtual time, or at this driver call, counted from 1.
  std::variant<std::chrono::nanoseconds, std::uint64_t> at;
  CUresult result = CUDA_ERROR_UNKNOWN;
};

// A parsed rule.
struct FaultRule {
  std::string text;  // as it was written
  std::size_t line = 1, column = 1;
  std::variant<MemoryLimit, CallFault, DeviceLoss> what;

  // Returns whether the rule works only with the simulated driver.
  bool needs_machine() const noexcept { return !std::holds_alternative<CallFault>(what); }
};

// Rules, in the order in which they were written.
using FaultRules = std::vector<FaultRule>;

// Parses rules; empty text gives no rules. Reads no file. Throws std::invalid_argument:
// "ORIGIN:LINE:COLUMN: what is wrong", with the nearest valid word. Columns count bytes from 1.
FaultRules parse_fault_rules(std::string_view text, const std::string &origin = "faults");

// Parses rules from text, or from the file after an @: "@faults.txt". Throws std::invalid_argument also if
// the file cannot be read.
FaultRules read_fault_rules(const std::string &text_or_file);

// Returns whether cuda.h says of this error that it leaves the context or process unusable: LAUNCH_FAILED,
// ILLEGAL_ADDRESS and similar. A rule with such an error is sticky by default.
bool is_sticky(CUresult result) noexcept;

}  // namespace cushim::mock
