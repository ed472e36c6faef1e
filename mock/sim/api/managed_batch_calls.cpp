// SPDX-License-Identifier: Apache-2.0
// Batches of prefetches and discards of managed memory.
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

struct Locations {
  const CUmemLocation *locations;
  const std::size_t *first;  // the range from which on each location applies
  std::size_t count;
};

Stream &check(Call &call, const Ranges &ranges, unsigned long long flags, CUstream handle) {
  require(ranges.addresses != nullptr && ranges.sizes != nullptr && ranges.count != 0 && flags == 0);
  return stream_of_batch(call, handle);
}

std::vector<Allocation *> allocations_of(Call &call, const Ranges &ranges) {
  std::vector<Allocation *> allocations;
  for (std::size_t i = 0; i < ranges.count; ++i)
    allocations.push_back(&managed_range(call, ranges.addresses[i], ranges.sizes[i]));
  return allocations;
}

// Returns the location of each range.
std::vector<PageLocation> locations_of(Call &call, const Ranges &ranges, const Locations &to) {
  std::vector<PageLocation> found;
  for (std::size_t i = 0, entry = 0; i < ranges.count; ++i) {
    entry = entry_of(to.first, to.count, i, entry);
    found.push_back(page_location(call, to.locations[entry]));
  }
  return found;
}

// The bytes of a discarded range are indeterminate: they become poison when the stream comes to the
// operation.
void discard_ranges(Call &call, Stream &stream, const Ranges &ranges,
                    const std::vector<Allocation *> &allocations) {
  constexpr int kPoison = SharedBlocks::kPoison;
  Memory &memory = call.system.memory;
  std::vector<BatchOperation> operations;
  for (std::size_t i = 0; i < ranges.count; ++i) {
    BatchOperation discard{.operation = {}, .uses = {allocations[i]}};
    discard.operation.run = [&memory, address = ranges.addresses[i], size = ranges.sizes[i]](Move &) {
      std::memset(memory.bytes(address, size), kPoison, size);
    };
    operations.push_back(std::move(discard));
  }
  submit(call, stream, std::move(operations));
}

CUresult discard(Call &call, CUdeviceptr *addresses, std::size_t *sizes, std::size_t count,
                 unsigned long long flags, CUstream handle) {
  const Ranges ranges{addresses, sizes, count};
  Stream &stream = check(call, ranges, flags, handle);
  discard_ranges(call, stream, ranges, allocations_of(call, ranges));
  return CUDA_SUCCESS;
}

enum class Contents { kept, discarded };

template <Contents contents>
CUresult prefetch(Call &call, CUdeviceptr *addresses, std::size_t *sizes, std::size_t count,
                  CUmemLocation *locations, std::size_t *first, std::size_t location_count,
                  unsigned long long flags, CUstream handle) {
  const Ranges ranges{addresses, sizes, count};
  require(locations != nullptr);
  check_assignment(first, location_count, count);
  Stream &stream = check(call, ranges, flags, handle);
  const std::vector<Allocation *> allocations = allocations_of(call, ranges);
  const std::vector<PageLocation> to = locations_of(call, ranges, {locations, first, location_count});
  for (std::size_t i = 0; i < count; ++i) set_prefetched(*allocations[i], addresses[i], sizes[i], to[i]);
  if (contents == Contents::discarded)
    discard_ranges(call, stream, ranges, allocations);
  else
    call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

}  // namespace

void serve_managed_batches(Service &service) {
  service.serve<"cuMemDiscardBatchAsync", discard>();
  service.serve<"cuMemPrefetchBatchAsync", prefetch<Contents::kept>>();
  service.serve<"cuMemDiscardAndPrefetchBatchAsync", prefetch<Contents::discarded>>();
}

}  // namespace cushim::sim
