// SPDX-License-Identifier: Apache-2.0
// Host memory behind pointers in structures.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "type.hpp"

namespace cushim::replay {

// Rows of host memory that a copy of two or three dimensions reads or writes.
struct HostRows {
  std::uint64_t address = 0;  // value of the pointer in the structure
  std::uint64_t first = 0;    // bytes from the address to the first row
  std::uint64_t width = 0, rows = 0, slices = 1;
  std::uint64_t pitch = 0, slice_pitch = 0;  // bytes from row to row and from slice to slice

  // Returns the number of bytes of all rows.
  std::uint64_t size() const noexcept { return width * rows * slices; }
  // Returns the number of bytes from the address to the end of the last row; 0 if the rows are empty. Throws
  // std::bad_alloc if it does not fit in 64 bits.
  std::uint64_t extent() const;
  // Returns whether visit(address of the row) returns true for all rows; stops where it does not.
  template <class Visit>
  bool for_each_row(Visit visit) const {
    for (std::uint64_t slice = 0; slice < slices; ++slice)
      for (std::uint64_t row = 0; row < rows; ++row)
        if (!visit(address + first + slice * slice_pitch + row * pitch)) return false;
    return true;
  }
  // Returns whether the memory of all rows exists. A driver has not verified it yet.
  bool are_there() const;
  // Returns the bytes of all rows, one after the other.
  std::string pack() const;
  // Writes the bytes of all rows.
  void unpack(std::string_view bytes) const;
};

// A pointer in a structure.
struct Pointee {
  enum class Content : std::uint8_t {
    objects,
    kernel_parameters,
    launch_options,
    rows_read,
    rows_written,
    handles_made,  // an array of the driver: the call writes its address to the pointer
  };
  Content content = Content::objects;
  std::size_t offset = 0;             // of the pointer in the structure
  std::uint64_t address = 0;          // value of the pointer; not 0
  std::uint64_t size = 0;             // bytes of objects
  const trace::Type *type = nullptr;  // of an object
  CUfunction kernel = nullptr;        // whose parameters they are
  HostRows rows{};
  bool may_be_of_device = false;  // the rows may be in memory that the host cannot access

  bool is_data() const noexcept { return content == Content::rows_read || content == Content::rows_written; }
};

// Returns the pointers in an object of this type.
std::vector<Pointee> pointees_of(const trace::Type &type, const void *object);

// Returns whether objects of the type may have such pointers.
bool has_pointees(const trace::Type &type);

}  // namespace cushim::replay
