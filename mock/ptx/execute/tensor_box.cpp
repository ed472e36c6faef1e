// SPDX-License-Identifier: Apache-2.0
// The boxes of tensors that cp.async.bulk.tensor copies. See PTX ISA, "Tensors". The order of the dimensions
// of interleaved tensors, the conversions and the refusals are measured on an H200.
#include "execute/tensor_box.hpp"

#include <algorithm>
#include <iterator>

namespace cushim::ptx::execute {

const char *TensorBox::begin(const TensorMap &map, const TensorCopy &copy, const s64 *coordinates,
                             const s64 *offsets) {
  map_ = map;
  rank_ = map.get(TensorMap::rank) + 1;
  if (rank_ != copy.dimensions) return "the tensor map has another number of dimensions";
  if ((map.get(TensorMap::is_im2col) != 0) != copy.is_im2col)
    return copy.is_im2col ? "the tensor map is tiled" : "the tensor map is not tiled";
  if (map.get(TensorMap::format) >= std::size(tensor_elements))
    return "the tensor map has an unknown data type";
  const u32 interleave = map.get(TensorMap::interleave), swizzle = map.get(TensorMap::swizzle);
  const bool is_interleaved = interleave != 0;
  if (interleave > 2 || (is_interleaved && rank_ < 3)) return "the tensor map has an unknown layout";
  const u32 box = map.get(TensorMap::box(0)) + 1, row = box * element().bytes;
  line_bytes_ = is_interleaved ? 16 * interleave : row;
  pitch_ = swizzle == 0 || is_interleaved ? line_bytes_ : 16u << swizzle;
  swizzle_mask_ = (1u << swizzle) - 1;
  if (row % 16 != 0 || (!is_interleaved && swizzle != 0 && row > pitch_))
    return "the tensor map has a box that the driver refuses";
  if (!is_interleaved && coordinates[0] * s64{element().bytes} % 16 != 0)
    return "the first coordinate is not at a multiple of 16 bytes";
  first_walked_ = is_interleaved ? 0 : 1;
  std::copy_n(coordinates, rank_, at_);
  std::fill(std::begin(offset_), std::end(offset_), 0);
  if (copy.is_im2col) return begin_pixels(coordinates, offsets, copy.stores);
  lines_ = 1;
  for (unsigned i = 0; i < rank_; ++i) {
    if (copy.stores && coordinates[i] < 0) return "a box that is stored begins before the tensor";
    // The box of an interleaved tensor has one slice: the last dimension but one.
    const bool is_slice = is_interleaved && i == rank_ - 2;
    const s64 count = is_slice ? 1 : (s64{map.get(TensorMap::box(i))} + step(i)) / step(i);
    start_[i] = coordinates[i];
    end_[i] = coordinates[i] + count * step(i);
    if (i >= first_walked_) lines_ *= u64(count);
  }
  return nullptr;
}

const char *TensorBox::begin_pixels(const s64 *coordinates, const s64 *offsets, bool stores) {
  const unsigned count = rank_ - 2;
  const auto corner = [](u32 value, unsigned bits) { return s64(s32(value << (32 - bits)) >> (32 - bits)); };
  const unsigned bits = TensorMap::corner_bits(count);
  start_[0] = end_[0] = coordinates[0];
  for (unsigned i = 0; i < count; ++i) {
    const unsigned dimension = first_walked_ + i;
    start_[dimension] = corner(map_.get(TensorMap::lower_corner(i, count)), bits);
    end_[dimension] = size(dimension) + corner(map_.get(TensorMap::upper_corner(i, count)), bits);
    if (stores && (start_[dimension] < 0 || end_[dimension] > size(dimension)))
      return "the columns that are stored exceed the tensor";
    if (coordinates[dimension] < start_[dimension] || coordinates[dimension] >= end_[dimension])
      return "the first pixel is outside the bounding box";
    if (!stores) offset_[dimension] = offsets[i];
  }
  if (first_walked_ == 0) start_[count] = end_[count] = coordinates[count];
  lines_ = map_.get(TensorMap::pixels) + 1;
  return nullptr;
}

void TensorBox::next() {
  const bool is_im2col = map_.get(TensorMap::is_im2col) != 0;
  for (unsigned i = first_walked_; i < rank_; ++i) {
    if (is_im2col && start_[i] == end_[i] && i + 1 < rank_) continue;  // channels of the only slice
    at_[i] += step(i);
    if (at_[i] < end_[i] || i + 1 == rank_) return;
    at_[i] = start_[i];
  }
}

TensorBox::Part TensorBox::in_tensor() const {
  u64 address = map_.address();
  for (unsigned i = first_walked_; i < rank_; ++i) {
    const s64 at = at_[i] + offset_[i];
    if (at < 0 || at >= size(i)) return {};
    address += u64(at) * (i == 0 ? line_bytes_ : map_.stride(i - 1));
  }
  if (first_walked_ == 0) return {0, line_bytes_, address};
  const s64 bytes = element().bytes, whole = line_bytes_ / bytes;
  const s64 first = std::clamp<s64>(-at_[0], 0, whole), end = std::clamp(size(0) - at_[0], first, whole);
  return {u32(first * bytes), u32(end * bytes), address + u64((at_[0] + first) * bytes)};
}

}  // namespace cushim::ptx::execute
