// SPDX-License-Identifier: Apache-2.0
// What is to go wrong, read from text. One rule a line, or between semicolons; # begins a comment.
//
//   cuMemAlloc:3=OUT_OF_MEMORY               the third call fails
//   cuEvent*:p0.01@seed7=LAUNCH_FAILED       each call with probability 0.01, the same ones for the same seed
//   cuMemcpyHtoDAsync:2=ILLEGAL_ADDRESS,late the call succeeds, and the next that synchronizes tells
//   memory:2GiB                              no more memory on any device at this many bytes in use
//   device0:lost@1.5ms                       the device is lost at this virtual time, and stays lost
//
// docs/faults.md tells all of it. What the rules do: cushim/mock/faults.hpp, and sim::Options::faults.
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

namespace cushim {
inline namespace v1 {
namespace mock {

// Calls by number, counted from 1 over all that the rule is about.
struct CountedCalls {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

// Each call with this probability, by a seed.
struct RandomCalls {
  double probability = 1;
  std::uint64_t seed = 1;
};

// Calls that fail.
struct CallFault {
  std::vector<int> slots;  // the rows of the list that the rule is about, in order
  std::variant<CountedCalls, RandomCalls> when;
  CUresult result = CUDA_SUCCESS;  // what a call is answered; never CUDA_SUCCESS
  bool is_late = false;    // the call does its work, and the next call that synchronizes is answered this
  bool is_sticky = false;  // afterwards all calls in the context are answered this
};

// Memory of a device is out when this many bytes are in use.
struct MemoryLimit {
  std::optional<int> device;  // by its place in the machine; else each
  std::uint64_t bytes = 0;
};

// A device is lost, for good.
struct DeviceLoss {
  int device = 0;
  // When: at a virtual time, or at this call of the driver, counted from 1.
  std::variant<std::chrono::nanoseconds, std::uint64_t> at;
  CUresult result = CUDA_ERROR_UNKNOWN;
};

struct FaultRule {
  std::string text;  // as it was written
  std::size_t line = 1, column = 1;
  std::variant<MemoryLimit, CallFault, DeviceLoss> what;

  // Whether only the simulated driver can do this.
  bool needs_machine() const noexcept { return !std::holds_alternative<CallFault>(what); }
};

using FaultRules = std::vector<FaultRule>;

// The rules that the text says; none is fine. Reads nothing but the text. Throws std::invalid_argument:
// "ORIGIN:LINE:COLUMN: what is wrong", with the nearest valid word. Columns count bytes from 1.
FaultRules parse_fault_rules(std::string_view text, const std::string &origin = "faults");

// The same of a text, or of the file that it names after an @: "@faults.txt". Throws std::invalid_argument
// also if that cannot be read.
FaultRules read_fault_rules(const std::string &text_or_file);

// Whether a result is one after which, as cuda.h tells it, the context or process is good for nothing more:
// LAUNCH_FAILED, ILLEGAL_ADDRESS and their like. A rule with one is sticky unless it says otherwise.
bool is_sticky(CUresult result) noexcept;

}  // namespace mock
}  // namespace v1
}  // namespace cushim
