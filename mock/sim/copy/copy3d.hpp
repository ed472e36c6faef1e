// SPDX-License-Identifier: Apache-2.0
// 2D and 3D copies, in linear memory and in arrays.
#pragma once

#include "copy/copy_endpoint.hpp"

namespace cushim::sim {

struct CopyExtent {
  std::size_t width = 0;  // bytes
  std::size_t rows = 1, slices = 1;

  std::size_t bytes() const noexcept { return width * rows * slices; }
};

// The origin of a copy, in bytes, rows and slices.
struct Corner {
  std::size_t x = 0, y = 0, z = 0;
};

// One end of a 2D or 3D copy.
struct Copy3DEndpoint {
  CopyEndpoint place;              // its address is that of the first copied byte
  std::size_t row = 0, slice = 0;  // stride in bytes
  // Only of an array whose memory is mapped by tiles. `corner` is its first copied byte.
  std::shared_ptr<ArrayTiles> tiles{};
  Corner corner{};
};

// Returns an end in linear memory with rows `pitch` bytes and slices `height` rows apart; 0 means tightly
// packed. INVALID_VALUE if the copy exceeds the pitch, the height or the allocation.
enum class Reach { device, any };  // checks addresses with device_endpoint() or any_endpoint()
Copy3DEndpoint linear_endpoint(Call &call, Reach reach, CUdeviceptr address, std::size_t pitch,
                               std::size_t height, const Corner &corner, const CopyExtent &box,
                               Access access);

// Returns an end in an array. INVALID_VALUE for an invalid handle, or if the copy exceeds the array.
Copy3DEndpoint array_endpoint(Call &call, CUarray array, const Corner &corner, const CopyExtent &box);

// Returns the operation that makes the copy.
Operation copy_3d_operation(Call &call, const Context &context, const Copy3DEndpoint &to,
                            const Copy3DEndpoint &from, const CopyExtent &box, SourceRead read);

void copy_3d(Call &call, Stream &stream, const Copy3DEndpoint &to, const Copy3DEndpoint &from,
             const CopyExtent &box, Sync sync);

}  // namespace cushim::sim
