// SPDX-License-Identifier: Apache-2.0
// The code under test: host code that uses a GPU.
#pragma once

#include <cushim/cushim.hpp>

#include <cstddef>

// Copies page-locked memory to device memory of the same size, in pieces of at most `piece` bytes. Returns an
// event that completes when all pieces have arrived. Throws cushim::Error at the first piece that fails.
cushim::Event upload(cushim::DeviceSpan<std::byte> to, cushim::PinnedSpan<const std::byte> from,
                     std::size_t piece, cushim::StreamRef stream);
