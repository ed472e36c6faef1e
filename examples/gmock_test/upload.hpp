// SPDX-License-Identifier: Apache-2.0
// The code under test: host code that drives a GPU.
#pragma once

#include <cushim/cushim.hpp>

#include <cstddef>
#include <span>

// Copies a buffer to device memory of its size, in pieces of at most this many bytes. The event that it
// returns is done when all have arrived. Throws cushim::Error at the first piece that fails.
cushim::Event upload(cushim::DeviceSpan<std::byte> to, std::span<const std::byte> from, std::size_t piece,
                     cushim::StreamRef stream);
