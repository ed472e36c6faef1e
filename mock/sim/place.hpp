// SPDX-License-Identifier: Apache-2.0
// Where a copy reads or writes.
#pragma once

#include "call.hpp"

namespace cushim::sim {

struct Place {
  CUdeviceptr address = 0;
  Allocation *allocation = nullptr;  // null: pageable memory of the program

  bool is_device() const noexcept { return allocation != nullptr && allocation->kind == MemoryKind::device; }
  bool is_pageable() const noexcept { return allocation == nullptr; }
  // Whether a device takes part if this is an end of a copy.
  Device *device() const noexcept { return is_device() ? allocation->device : nullptr; }
};

// Memory that devices reach. Anything else, and a range that leaves its allocation, is INVALID_VALUE.
Place device_place(Call &call, CUdeviceptr address, std::size_t size);

// Memory of any kind, as unified addressing sees it. A range that leaves its allocation is INVALID_VALUE,
// and so are the null pointer and a device's addresses without an allocation.
Place any_place(Call &call, CUdeviceptr address, std::size_t size);

// Whether a call returns before its copy is done.
enum class Sync { waits, returns };
// Of the calls that take no stream: between devices the host waits for nothing.
inline Sync host_waits(const Place &to, const Place &from) {
  return to.is_device() && from.is_device() ? Sync::returns : Sync::waits;
}

// Whether a context's device reaches the memory itself, as sets and memory operations must: not that of
// another device unless the context was given access to the peer, and what was opened from another process
// only in the context that opened it (measured, driver 580). Copies go between any two devices, but for a
// pool's memory.
bool reaches(const Context &context, const Allocation &allocation);

// What carries bytes from one to the other, and how long that takes it.
struct Route {
  Resource *resource;
  Time cost;
};
Route route(const Context &context, const Place &to, const Place &from, std::size_t size);

// Puts a copy between them into a stream, and waits for it if the call does. What the program can look at is
// there when it returns, if it is not pinned. In a legacy stream, a copy of device memory of another context
// is work of that one's legacy stream, too: nothing else orders the two. Measured, driver 580.
void submit_copy(Call &call, Stream &stream, Operation &&operation, const Place &to, const Place &from,
                 Sync sync);

}  // namespace cushim::sim
