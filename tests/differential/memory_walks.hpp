// SPDX-License-Identifier: Apache-2.0
// Common parts of walks about one kind of memory.
#pragma once

#include <fmt/format.h>

#include "walk.hpp"

namespace differential {

constexpr unsigned kNone = 99;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMiB = std::size_t{1} << 20;

// Returns the index of an element for which the function returns true, the first from a random one on; kNone
// if there is none.
template <class All, class Is>
unsigned pick(Walk &w, const All &all, Is is) {
  const auto count = static_cast<unsigned>(all.size()), first = w.dice.below(count);
  for (unsigned i = 0; i < count; ++i)
    if (is(all[(first + i) % count])) return (first + i) % count;
  return kNone;
}

// Returns a value of an enumeration as an argument.
template <class T>
Argument<T> numbered(const char *type, T value) {
  return {value, fmt::format("{}({})", type, static_cast<long long>(value))};
}

// ---- Mappings ----

inline Mappings &of_mappings(Walk &w) { return w.more->mappings; }
// Returns the index of a reserved range.
unsigned a_range(Walk &w);
// Returns an address of a range or beside it, mostly `inside` bytes behind the start of a granule.
Argument<CUdeviceptr> an_address(Walk &w, std::size_t inside = 0);
std::size_t a_size_of_granules(Walk &w);

// ---- Pools ----

inline Pools &of_pools(Walk &w) { return w.more->pools; }
unsigned a_pool(Walk &w);
Argument<CUmemoryPool> pool_at(Walk &w, unsigned k);
std::string name_of(Walk &w, CUmemoryPool pool);

// ---- Arrays ----

inline Arrays &of_arrays(Walk &w) { return w.more->arrays; }
inline std::size_t at_least_1(std::size_t extent) { return std::max<std::size_t>(extent, 1); }
// Returns an array as an argument, sometimes null.
Argument<CUarray> array_at(Walk &w, unsigned k);

// ---- Managed memory ----

inline Managed &of_managed(Walk &w) { return w.more->managed; }
// Returns the index of managed memory.
unsigned a_managed(Walk &w);
// A range of bytes for a call.
struct Bytes {
  Argument<CUdeviceptr> address;
  std::size_t size;
};
// Returns bytes that are mostly within managed memory.
Bytes some_bytes(Walk &w);

}  // namespace differential
