// SPDX-License-Identifier: Apache-2.0
#include "objects/context.hpp"

#include <algorithm>

namespace cushim::sim {

std::vector<Work> Context::works() const {
  std::vector<Work> works;
  for (const PendingTail &left : pending_tails) works.push_back(left.tail);
  for (const Stream *stream : streams) works.push_back(stream->tail);
  for (const auto &[thread, stream] : per_thread) works.push_back(stream->tail);
  if (legacy != nullptr) works.push_back(legacy->tail);
  return works;
}

void Context::add_stream(Stream &stream) {
  stream.index = streams.size();
  streams.push_back(&stream);
}

void Context::remove_stream(const Stream &stream) {
  streams[stream.index] = streams.back();
  streams[stream.index]->index = stream.index;
  streams.pop_back();
  if (is_complete(stream.tail)) return;
  if (pending_tails.size() >= left_over_swept_at) {
    std::erase_if(pending_tails, [](const PendingTail &left) { return is_complete(left.tail); });
    left_over_swept_at = std::max<std::size_t>(32, 2 * pending_tails.size());
  }
  pending_tails.push_back({stream.tail, stream.is_blocking()});
}

void Context::sweep_per_thread() {
  if (per_thread.size() < per_thread_swept_at) return;
  std::erase_if(per_thread, [](const auto &entry) {
    const Stream &stream = *entry.second;
    return stream.thread.expired() && is_complete(stream.tail);
  });
  per_thread_swept_at = std::max<std::size_t>(4, 2 * per_thread.size());
}

}  // namespace cushim::sim
