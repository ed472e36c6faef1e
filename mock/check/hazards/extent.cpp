// SPDX-License-Identifier: Apache-2.0
#include "hazards/extent.hpp"

#include <algorithm>

namespace cushim::check {

Extent Extent::simplified() const noexcept {
  Extent simple = *this;
  if (simple.rows > 1 && simple.pitch == simple.width) {
    simple.width *= simple.rows;
    simple.rows = 1;
  }
  if (simple.rows == 1 && simple.layers > 1) {
    simple.rows = simple.layers;
    simple.pitch = simple.layer_pitch;
    simple.layers = 1;
    if (simple.pitch == simple.width) {
      simple.width *= simple.rows;
      simple.rows = 1;
    }
  }
  if (simple.rows == 1) simple.pitch = 0;
  if (simple.layers == 1) simple.layer_pitch = 0;
  return simple;
}

namespace {

std::optional<ByteRange> overlap(const Extent &box, ByteRange range) noexcept {
  for (std::uint64_t layer = 0; layer < box.layers; ++layer) {
    const std::uint64_t base = box.begin + layer * box.layer_pitch;
    // The first row that ends after the range begins.
    std::uint64_t row = 0;
    if (range.begin >= base + box.width) {
      if (box.rows == 1) continue;
      row = (range.begin - base - box.width) / box.pitch + 1;
    }
    if (row >= box.rows) continue;
    const std::uint64_t begin = base + row * box.pitch;
    if (begin < range.end)
      return ByteRange{std::max(begin, range.begin), std::min(begin + box.width, range.end)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ByteRange> overlap(const Extent &one, const Extent &other) noexcept {
  if (one.is_empty() || other.is_empty() || one.end() <= other.begin || other.end() <= one.begin)
    return std::nullopt;
  const bool is_one_smaller = one.rows * one.layers <= other.rows * other.layers;
  const Extent &small = is_one_smaller ? one : other, &large = is_one_smaller ? other : one;
  for (std::uint64_t layer = 0; layer < small.layers; ++layer)
    for (std::uint64_t row = 0; row < small.rows; ++row) {
      const std::uint64_t begin = small.begin + layer * small.layer_pitch + row * small.pitch;
      if (const auto both = overlap(large, ByteRange{begin, begin + small.width})) return both;
    }
  return std::nullopt;
}

}  // namespace cushim::check
