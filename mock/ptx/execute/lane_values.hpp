// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "execute/lanes_loop.hpp"

// Access to the values of single lanes, for operations that do not vectorize.
namespace cushim::ptx::execute {
namespace {

template <class F>
void each(std::uint32_t mask, F &&f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(__builtin_ctz(mask)));
}

// Stores a function of a register. Computes it for active lanes only, because it takes long.
template <f32 (*function)(f32)>
const Op *map_active(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a);
  f32 *const d = reg<f32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = function(a[i]); });
  return op + 1;
}

inline u64 load_lane(const std::byte *from, unsigned lane, unsigned bytes) {
  u64 value = 0;
  std::memcpy(&value, from + lane * bytes, bytes);
  return value;
}
inline void store_lane(std::byte *to, unsigned lane, unsigned bytes, u64 value) {
  std::memcpy(to + lane * bytes, &value, bytes);
}

}  // namespace
}  // namespace cushim::ptx::execute
