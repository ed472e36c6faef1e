// SPDX-License-Identifier: Apache-2.0
// Batches of prefetches and discards of managed memory. If a range is invalid, the ranges before it are
// prefetched or discarded. Measured on an H200, driver 580.159.
#include <cstring>

#include "api/batch.hpp"
#include "api/managed_memory_calls.hpp"
#include "api/service.hpp"

namespace cushim::sim {
namespace {

struct Ranges {
  const CUdeviceptr *addresses;
  const std::size_t *sizes;
  std::size_t count;
};

Stream &check(Call &call, const Ranges &ranges, unsigned long long flags, CUstream handle) {
  require(ranges.addresses != nullptr && ranges.sizes != nullptr && ranges.count != 0 && flags == 0);
  return stream_of_batch(call, handle);
}

// Calls operation_of(index, allocation) for each range, and submits the operations that it returns.
template <class OperationOf>
void submit_for_each(Call &call, Stream &stream, const Ranges &ranges, OperationOf operation_of) {
  std::vector<PreparedCommand> commands;
  try {
    for (std::size_t i = 0; i < ranges.count; ++i) {
      const CUdeviceptr address = ranges.addresses[i];
      const std::size_t size = ranges.sizes[i];
      Allocation &allocation = managed_range(call, address, size);
      commands.push_back({operation_of(i, allocation), {CopyEndpoint{address, &allocation, size}}});
    }
  } catch (const CallError &) {
    submit(call, stream, std::move(commands));
    throw;
  }
  submit(call, stream, std::move(commands));
}

// The bytes of a discarded range are indeterminate: they become poison when the stream comes to the
// operation.
Operation discard_operation(Memory &memory, CUdeviceptr address, std::size_t size) {
  return {.run = [&memory, address, size](Move &) {
    std::memset(memory.bytes(address, size), SharedBlocks::kPoison, size);
  }};
}

CUresult discard(Call &call, CUdeviceptr *addresses, std::size_t *sizes, std::size_t count,
                 unsigned long long flags, CUstream handle) {
  require_capture_allows(call, handle);
  const Ranges ranges{addresses, sizes, count};
  Stream &stream = check(call, ranges, flags, handle);
  submit_for_each(call, stream, ranges, [&](std::size_t i, const Allocation &) {
    return discard_operation(call.system.memory, addresses[i], sizes[i]);
  });
  return CUDA_SUCCESS;
}

enum class Contents { kept, discarded };

template <Contents contents>
CUresult prefetch(Call &call, CUdeviceptr *addresses, std::size_t *sizes, std::size_t count,
                  CUmemLocation *locations, std::size_t *first, std::size_t location_count,
                  unsigned long long flags, CUstream handle) {
  require_capture_allows(call, handle);
  const Ranges ranges{addresses, sizes, count};
  require(locations != nullptr && flags == 0);
  check_assignment(first, location_count, count, IndexOrder::any);
  Stream &stream = check(call, ranges, flags, handle);
  std::vector<PageLocation> to;
  for (std::size_t i = 0; i < location_count; ++i)
    to.push_back(page_location(call, locations[i], CUDA_ERROR_INVALID_VALUE));
  std::size_t entry = 0;
  submit_for_each(call, stream, ranges, [&](std::size_t i, Allocation &allocation) {
    entry = entry_of(first, location_count, i, entry);
    set_prefetched(allocation, addresses[i], sizes[i], to[entry]);
    return contents == Contents::discarded ? discard_operation(call.system.memory, addresses[i], sizes[i])
                                           : Operation{};
  });
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_managed_batches = {
    entry<"cuMemDiscardBatchAsync", discard>,
    entry<"cuMemPrefetchBatchAsync", prefetch<Contents::kept>>,
    entry<"cuMemDiscardAndPrefetchBatchAsync", prefetch<Contents::discarded>>,
};

}  // namespace cushim::sim
