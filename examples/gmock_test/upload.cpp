// SPDX-License-Identifier: Apache-2.0
#include "upload.hpp"

#include <algorithm>

cushim::Event upload(cushim::DeviceSpan<std::byte> to, cushim::PinnedSpan<const std::byte> from,
                     std::size_t piece, cushim::StreamRef stream) {
  cushim::Event done = cushim::Event::create();
  for (std::size_t offset = 0; offset < from.size(); offset += piece) {
    const std::size_t bytes = std::min(piece, from.size() - offset);
    cushim::copy(to.subspan(offset, bytes), from.subspan(offset, bytes), stream);
  }
  done.record(stream);
  return done;
}
