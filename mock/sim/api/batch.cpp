// SPDX-License-Identifier: Apache-2.0
#include "api/batch.hpp"

namespace cushim::sim {

Work add(Call &call, Stream &stream, Operation &&operation, const Uses &uses) {
  for (Allocation *const used : uses)
    if (used != nullptr) used->reserve_user();
  Work work = call.add(stream, std::move(operation));
  for (Allocation *const used : uses)
    if (used != nullptr) used->add_user(work);
  return work;
}

Work submit(Call &call, Stream &stream, std::vector<BatchOperation> &&operations) {
  // All operations become users of their memory before start() may release the lock.
  std::vector<Work> works;
  works.reserve(operations.size());
  const auto start_all = [&] {
    for (const Work &work : works) call.start(work);
  };
  try {
    for (BatchOperation &each : operations)
      works.push_back(add(call, stream, std::move(each.operation), each.uses));
  } catch (...) {
    start_all();
    throw;
  }
  start_all();
  return works.empty() ? nullptr : works.back();
}

Stream &stream_of_batch(Call &call, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(!stream.is_legacy);
  return stream;
}

void check_assignment(const std::size_t *first, std::size_t entries, std::size_t count) {
  require(first != nullptr && entries != 0 && entries <= count);
  // From the front: a wrong number of entries ends the loop where the values stop rising.
  require(first[0] == 0);
  for (std::size_t i = 1; i < entries; ++i) require(first[i] > first[i - 1] && first[i] < count);
}

}  // namespace cushim::sim
