// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/machine.hpp"

namespace cushim::ptx::execute {

// Runs the clusters of a launch that have not started. Returns when this thread finds none.
void work(Launch &);

// Calls work() on the caller and on up to `helpers` other threads. Returns when all of them have returned.
void run_on_pool(Launch &, unsigned helpers);

}  // namespace cushim::ptx::execute
