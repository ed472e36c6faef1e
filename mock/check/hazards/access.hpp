// SPDX-License-Identifier: Apache-2.0
// One access to memory by one piece of work.
#pragma once

#include <cuda.h>
#include <cushim/check/call_stack.hpp>
#include <cushim/detail/launch_watch.hpp>
#include <cushim/entry.hpp>

#include <memory>
#include <string>

#include "hazards/extent.hpp"
#include "hazards/order.hpp"

namespace cushim::check {

// Work that its call does not describe: a kernel, or a node of a graph.
struct NamedWork {
  std::string name;  // "kernel saxpy"
  bool is_kernel = false;
  std::shared_ptr<const mock::KernelRecord> record{};  // of what it accesses when it runs; null: unknown
  std::string made_by{};  // the call that added a node of a graph; empty if unknown
};

struct Access {
  // `unknown` is the access of a kernel, which may read or write.
  enum class Kind : std::uint8_t { read, write, allocation, free, unknown };

  Epoch epoch;
  CallStack call_stack;
  unsigned long stream = 0;  // its stream number (stream_names.hpp)
  Entry entry{};             // the call that submitted it
  Kind kind = Kind::read;
  std::shared_ptr<const NamedWork> work{};  // null: the call itself

  bool is_change() const noexcept { return kind != Kind::read && kind != Kind::unknown; }
  bool is_of_kernel() const noexcept { return work != nullptr && work->is_kernel; }
  // Returns whether the access stands for one of unknown size: one byte at each address that a kernel gets.
  bool has_guessed_extent() const noexcept { return is_of_kernel() && record() == nullptr; }
  const mock::KernelRecord *record() const noexcept { return work != nullptr ? work->record.get() : nullptr; }
};

// Returns whether two unordered accesses to the same bytes are a defect. Of two kernels, one must be known to
// write.
inline bool may_conflict(const Access &one, const Access &other) noexcept {
  if (one.is_change() || other.is_change()) return true;
  if (one.kind != Access::Kind::unknown && other.kind != Access::Kind::unknown) return false;
  return !one.is_of_kernel() || !other.is_of_kernel();
}

// Pseudo-addresses of the rows and layers of an array, which has no addresses of its own.
inline constexpr std::uint64_t kRowOfArray = std::uint64_t{1} << 24, kLayerOfArray = std::uint64_t{1} << 42;

// Two accesses to the same bytes with no order between them, or an access after the first one freed the
// bytes.
struct Conflict {
  Access first, second;  // in the order of submission
  ByteRange bytes;
  // if not null, the bytes are pseudo-addresses in this array (kRowOfArray, kLayerOfArray)
  CUarray array = nullptr;
};

}  // namespace cushim::check
