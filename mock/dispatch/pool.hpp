// SPDX-License-Identifier: Apache-2.0
// The pool of driver slots.
#pragma once

#include <cushim/mock/driver_slot.hpp>

#include <unordered_map>

namespace cushim::mock {

struct Pool {
  std::mutex mutex;  // guards taking and retiring slots
  unsigned long retirements = 0;
  std::unordered_map<Driver *, DriverSlot *> over;
  DriverSlot driver_slots[DriverSlot::kCount];
};

// Returns the pool. Never destroyed: calls may come from destructors of other libraries.
Pool &pool();

// The same pool, for calls. Does not check for null: calls only exist once a driver slot has handed out its
// functions.
extern constinit Pool *made_pool;

inline int DriverSlot::number() const noexcept { return static_cast<int>(this - pool().driver_slots); }

}  // namespace cushim::mock
