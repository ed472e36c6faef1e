// SPDX-License-Identifier: Apache-2.0
#include "api/batch.hpp"

namespace cushim::sim {

Work submit(Call &call, Stream &stream, std::vector<PreparedCommand> &&commands) {
  // All commands become users of their memory before start() may release the lock.
  std::vector<Work> works;
  works.reserve(commands.size());
  const auto start_all = [&] {
    for (const Work &work : works) call.start(work);
  };
  try {
    for (PreparedCommand &each : commands) works.push_back(add(call, stream, std::move(each)));
  } catch (...) {
    start_all();
    throw;
  }
  start_all();
  return works.empty() ? nullptr : works.back();
}

void require_capture_allows(Call &call, CUstream handle) {
  if (is_null_stream(call, handle) || handle == CU_STREAM_LEGACY) return;
  // The stream of the thread needs a context, whatever the other arguments are.
  const bool is_of_thread = handle == nullptr || handle == CU_STREAM_PER_THREAD;
  if (is_of_thread || !call.system.captures.empty()) call.stream(handle);
}

Stream &stream_of_batch(Call &call, CUstream handle) {
  require(!is_null_stream(call, handle) && handle != CU_STREAM_LEGACY);
  return call.stream(handle);
}

void check_assignment(const std::size_t *first, std::size_t entries, std::size_t count, IndexOrder order) {
  require(first != nullptr && entries != 0 && entries <= count);
  // From the front: a wrong number of entries ends the loop where the values stop rising.
  require(first[0] == 0);
  for (std::size_t i = 1; i < entries; ++i)
    require(first[i] < count && (order == IndexOrder::any || first[i] > first[i - 1]));
}

}  // namespace cushim::sim
