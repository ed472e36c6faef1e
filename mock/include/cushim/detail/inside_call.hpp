// SPDX-License-Identifier: Apache-2.0
// Tells if a thread is inside a call of an in-process driver.
#pragma once

namespace cushim::mock {

// Returns whether the calling thread is inside a call of an in-process driver. True in a signal handler that
// interrupted such a call: locks that the call holds are then never released.
bool is_inside_call() noexcept;

// Returns whether `start_of_function` is the start of a function through which programs call an in-process
// driver. The caller of such a function is the program.
bool is_entry_function(const void *start_of_function);

}  // namespace cushim::mock
