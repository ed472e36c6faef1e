// SPDX-License-Identifier: Apache-2.0
#include "copy/copy3d.hpp"

#include <cstring>

#include "copy/copy_cost.hpp"
#include "memory/array_tiles.hpp"

namespace cushim::sim {

namespace {

std::size_t sum(std::size_t one, std::size_t other) {
  require(one <= SIZE_MAX - other);
  return one + other;
}
std::size_t product(std::size_t one, std::size_t other) {
  require(other == 0 || one <= SIZE_MAX / other);
  return one * other;
}

template <class Visit>
void for_each_row(const CopyExtent &box, Visit visit) {
  for (std::size_t z = 0; z < box.slices; ++z)
    for (std::size_t y = 0; y < box.rows; ++y) visit(y, z);
}

// Returns the address of a row in linear memory.
CUdeviceptr row_at(const Copy3DEndpoint &end, std::size_t y, std::size_t z) {
  return end.place.address + z * end.slice + y * end.row;
}

void read_row(Memory &memory, const Copy3DEndpoint &from, const CopyExtent &box, std::size_t y, std::size_t z,
              std::byte *out) {
  const Corner &corner = from.corner;
  if (from.tiles != nullptr && from.tiles->lacks_memory()) fail(CUDA_ERROR_LAUNCH_FAILED);
  if (from.tiles != nullptr)
    from.tiles->read(corner.x, corner.y + y, corner.z + z, box.width, out);
  else
    std::memmove(out, memory.bytes_to_read(row_at(from, y, z), box.width), box.width);
}

void write_row(Memory &memory, const Copy3DEndpoint &to, const CopyExtent &box, std::size_t y, std::size_t z,
               const std::byte *row) {
  const Corner &corner = to.corner;
  if (to.tiles != nullptr)
    to.tiles->write(corner.x, corner.y + y, corner.z + z, box.width, row);
  else if (to.place.is_multicast())
    for (const Multicast::Copy &copy : memory.multicast(row_at(to, y, z), box.width))
      std::memmove(copy.bytes, row + copy.at, copy.size);
  else
    std::memmove(memory.bytes(row_at(to, y, z), box.width), row, box.width);
}

// Returns whether the offsets of a corner count towards the pitch and the height. They do not in memory of
// pools and in mapped memory. Measured on an H200, driver 580; of pools of host memory not measured.
bool offsets_count(Call &call, CUdeviceptr address) {
  const Allocation *const allocation = call.system.memory.find(address);
  return allocation == nullptr || (allocation->pool == nullptr && allocation->mapping == nullptr);
}

}  // namespace

Copy3DEndpoint linear_endpoint(Call &call, Reach reach, CUdeviceptr address, std::size_t pitch,
                               std::size_t height, const Corner &corner, const CopyExtent &box,
                               Access access) {
  require(address != 0);
  const std::size_t row_end = sum(corner.x, box.width), slice_end = sum(corner.y, box.rows);
  const bool with_offsets = offsets_count(call, address);
  require(pitch == 0 || pitch >= (with_offsets ? row_end : box.width));
  require(height == 0 || height >= (with_offsets ? slice_end : box.rows));
  Copy3DEndpoint end;
  end.row = pitch != 0 ? pitch : row_end;
  end.slice = product(height != 0 ? height : slice_end, end.row);
  const std::size_t start = sum(product(corner.z, end.slice), sum(product(corner.y, end.row), corner.x));
  const std::size_t extent =
      sum(product(box.slices - 1, end.slice), sum(product(box.rows - 1, end.row), box.width));
  const CUdeviceptr first = sum(address, start);
  end.place = reach == Reach::device ? device_endpoint(call, first, extent, access)
                                     : any_endpoint(call, first, extent, access);
  return end;
}

Copy3DEndpoint array_endpoint(Call &call, CUarray handle, const Corner &corner, const CopyExtent &box) {
  Array &array = call.array(handle, CUDA_ERROR_INVALID_VALUE);
  const auto fits = [](std::size_t start, std::size_t size, std::size_t limit) {
    return start <= limit && size <= limit - start;
  };
  require(fits(corner.x, box.width, array.extent.row) && fits(corner.y, box.rows, array.extent.rows) &&
          fits(corner.z, box.slices, array.extent.slices));
  Copy3DEndpoint end;
  if (array.tiles != nullptr) {
    end.place.allocation = &array.tiles->memory;
    end.tiles = array.tiles;
    end.corner = corner;
    return end;
  }
  require(array.allocation != nullptr);
  end.row = array.extent.row;
  end.slice = end.row * array.extent.rows;
  end.place = {array.allocation->base + array.offset + corner.z * end.slice + corner.y * end.row + corner.x,
               array.allocation};
  return end;
}

Operation copy_3d_operation(Call &call, const Context &context, const Copy3DEndpoint &to,
                            const Copy3DEndpoint &from, const CopyExtent &box, SourceRead read) {
  Memory &memory = call.system.memory;
  const auto [resource, cost] = route(context, to.place, from.place, box.bytes());
  Operation operation{.cost = cost, .resource = resource};
  if (read == SourceRead::in_call) {
    std::vector<std::byte> staged(box.bytes());
    std::byte *next = staged.data();
    for_each_row(box, [&](std::size_t y, std::size_t z) {
      read_row(memory, from, box, y, z, next);
      next += box.width;
    });
    operation.run = [&memory, to, box, staged = std::move(staged)](Move &) {
      const std::byte *row = staged.data();
      for_each_row(box, [&](std::size_t y, std::size_t z) {
        write_row(memory, to, box, y, z, row);
        row += box.width;
      });
    };
  } else if (to.tiles != nullptr || to.place.is_multicast()) {
    operation.run = [&memory, to, from, box](Move &) {
      std::vector<std::byte> row(box.width);
      for_each_row(box, [&](std::size_t y, std::size_t z) {
        read_row(memory, from, box, y, z, row.data());
        write_row(memory, to, box, y, z, row.data());
      });
    };
  } else {
    operation.run = [&memory, to, from, box](Move &) {
      for_each_row(box, [&](std::size_t y, std::size_t z) {
        read_row(memory, from, box, y, z, memory.bytes(row_at(to, y, z), box.width));
      });
    };
  }
  return operation;
}

void copy_3d(Call &call, Stream &stream, const Copy3DEndpoint &to, const Copy3DEndpoint &from,
             const CopyExtent &box, Sync sync) {
  Operation operation =
      copy_3d_operation(call, *stream.context, to, from, box, source_read(to.place, from.place, sync));
  submit_copy(call, stream, std::move(operation), to.place, from.place, sync);
}

}  // namespace cushim::sim
