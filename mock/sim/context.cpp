// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

namespace cushim::sim {

std::vector<Work> Context::works() const {
  std::vector<Work> works;
  for (const LeftOver &left : left_over) works.push_back(left.tail);
  for (const Stream *stream : streams) works.push_back(stream->tail);
  for (const auto &[thread, stream] : per_thread) works.push_back(stream->tail);
  if (legacy != nullptr) works.push_back(legacy->tail);
  return works;
}

}  // namespace cushim::sim
