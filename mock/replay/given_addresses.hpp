// SPDX-License-Identifier: Apache-2.0
// The addresses that a call gives to the driver: in its arguments, and in the structures, arrays and kernel
// parameters to which they lead.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernel_parameters.hpp"

namespace cushim::replay {

struct GivenAddresses {
  bool all = false;  // the call may give others, which cannot be seen
  std::vector<std::uint64_t> addresses{};
};

// Returns the addresses that a device may use because of this call. Words that are not addresses are among
// them.
GivenAddresses addresses_given_by(int slot, std::span<const std::uint64_t> words, KernelParameters &kernels);

// Returns the addresses from which the call, an asynchronous copy, reads. Its data is in the recording, but
// the host may write other data until the copy runs.
std::vector<std::uint64_t> addresses_copied_from(int slot, std::span<const std::uint64_t> words);

// Returns the operations of cuStreamBatchMemOp; none of other calls.
std::vector<CUstreamBatchMemOpParams> operations_of(int slot, std::span<const std::uint64_t> words);

}  // namespace cushim::replay
