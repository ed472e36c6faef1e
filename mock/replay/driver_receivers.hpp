// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/mock/driver_slot.hpp>

#include <memory>

#include "answers.hpp"

namespace cushim::replay {

// Returns a receiver that passes the calls of an entry point to `answers`. Lookups return functions of
// `driver_slot`.
std::unique_ptr<mock::AnyReceiver> make_answering_receiver(Answers &answers, mock::DriverSlot &driver_slot,
                                                           int slot);

}  // namespace cushim::replay
