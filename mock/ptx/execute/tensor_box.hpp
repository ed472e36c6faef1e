// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/ptx/tensor_map.hpp>
#include "execute/lane_values.hpp"
#include "execute/tensor_copy.hpp"

namespace cushim::ptx::execute {

// An element type by its TensorMap::Format, as a type of atomics.hpp.
struct TensorElement {
  const char *name;
  u32 bytes;
};
inline constexpr TensorElement tensor_elements[] = {{"u8", 1},  {"u16", 2}, {"u32", 4}, {"s32", 4},
                                                    {"u64", 8}, {"s64", 8}, {"f16", 2}, {"f32", 4},
                                                    {"f32", 4}, {"f64", 8}, {"bf16", 2}};

// The box of a tensor that one thread copies. Its lines are walked one after the other: a line is a row of
// elements in the first dimension, or a slice of 16 or 32 bytes of an interleaved tensor.
class TensorBox {
 public:
  // Begins a walk. `coordinates`: one for each dimension; `offsets`: of im2col loads, one for each dimension
  // of pixels. Returns why the device refuses the copy with an illegal instruction, or null.
  const char *begin(const TensorMap &map, const TensorCopy &copy, const s64 *coordinates, const s64 *offsets);
  // Moves to the next line.
  void next();

  u64 lines() const { return lines_; }
  u32 line_bytes() const { return line_bytes_; }
  u64 bytes() const { return lines_ * line_bytes_; }
  const TensorElement &element() const { return tensor_elements[map_.get(TensorMap::format)]; }

  // The bytes of the current line that lie in the tensor: `first` to `end` - 1, none if equal; `address`: of
  // the first.
  struct Part {
    u32 first, end;
    u64 address;
  };
  Part in_tensor() const;

  // Returns the address of 16 bytes of a line in shared memory.
  u64 in_shared(u64 begin, u64 line, u32 byte) const {
    const u64 at = begin + line * pitch_ + byte;
    return at ^ ((at >> 7 & swizzle_mask_) << 4);
  }

 private:
  const char *begin_pixels(const s64 *coordinates, const s64 *offsets, bool stores);
  s64 size(unsigned i) const { return s64{map_.get(TensorMap::dimension(i))} + 1; }
  s64 step(unsigned i) const { return s64{map_.get(TensorMap::element_stride(i))} + 1; }

  TensorMap map_;
  unsigned rank_ = 0, first_walked_ = 0;
  u32 line_bytes_ = 0, pitch_ = 0, swizzle_mask_ = 0;
  u64 lines_ = 0;
  s64 at_[most_tensor_dimensions] = {}, offset_[most_tensor_dimensions] = {};
  // The walk: a coordinate that reaches `end_` returns to `start_`, and the next dimension advances.
  s64 start_[most_tensor_dimensions] = {}, end_[most_tensor_dimensions] = {};
};

}  // namespace cushim::ptx::execute
