// SPDX-License-Identifier: Apache-2.0
// The limits of the engine.
#pragma once

#include <chrono>
#include <cstddef>

namespace cushim::sim {

// The number of operations that Engine::order() returns.
constexpr std::size_t kOrderKept = 1000;

// Copies of at least this size release the lock while they run.
constexpr std::size_t kUnlockedCopyBytes = 64 << 10;

// The interval at which a wait checks again for a deadlock.
constexpr auto kDeadlockCheckInterval = std::chrono::milliseconds(50);

// The interval at which memory that the program may write to is checked.
constexpr auto kPollInterval = std::chrono::microseconds(100);

// The number of polled words that are checked: by a call that does not wait for them, and by the idle
// background thread.
constexpr std::size_t kWordsPolledByCall = 4;
constexpr std::size_t kWordsPolledWhenIdle = 256;

// The time that a host function may take before the engine continues with other work. No result depends on
// it, unless the function waits for the program.
constexpr auto kHostFunctionGrace = std::chrono::milliseconds(20);

}  // namespace cushim::sim
