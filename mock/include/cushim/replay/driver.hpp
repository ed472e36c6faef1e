// SPDX-License-Identifier: Apache-2.0
// A driver that answers a program from a recording, without a GPU:
//
//   cushim::replay::Driver driver(cushim::replay::Recording::read("program.record"));
//   cushim::ScopedDriver scope(driver);
//   run_the_program();
//   EXPECT_EQ(driver.calls_left(), 0U);
//
// Each call of the program is matched with the next recorded call of its thread. Its arguments are compared,
// and it gets the recorded result, values and data. The first call that deviates is reported.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/replay/recording.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cushim::replay {

// A call of the program that differs from the recorded one.
struct Deviation {
  std::size_t call = 0;    // index in Recording::calls() of the recorded call; their number if there is none
  unsigned thread = 0;     // recorded; 0 if the recording has no such thread
  std::string what{};      // the name of the argument, "entry point", or "recording" at its end
  std::string recorded{};  // text: the value, the entry point, or what the recording lacks
  std::string given{};     // by the program, as text; empty if only the recording lacks something
  std::string recorded_call{}, given_call{};  // with all arguments; empty if there is none

  // Returns all of it in several lines.
  std::string text() const;
};

// Options of a replay::Driver: the comparisons that it leaves out, and its answer to a deviation.
struct DriverOptions {
  // Base names of entry points whose arguments are not compared. "cuMemcpy*" means all names that begin with
  // cuMemcpy.
  std::vector<std::string> ignored{};
  // Called with the first deviation, on the thread of the call. That call and all later ones return `answer`.
  // Default: fails the running test if a file of the program includes <cushim/replay/gtest.hpp>; else writes
  // the deviation to stderr and aborts the program.
  std::function<void(const Deviation &deviation)> on_deviation{};
  CUresult answer = CUDA_ERROR_NOT_SUPPORTED;
};

// Handles and device addresses are compared by the objects that they identify, numbers and texts by their
// value, memory that the call reads by its bytes (by their hash with RecordData::hashes, not with
// RecordData::none). Not compared: addresses of pageable memory, ids, padding. Parameters of kernels of more
// than 8 bytes are compared only in the addresses of recorded memory that they contain.
//
// A program's thread is matched with the first recorded thread, of those that are not yet matched, whose
// first call is the same. A thread makes its calls in the recorded order, and does not wait for other
// threads. Calls of cuGetProcAddress and cuDriverGetVersion are not matched: they return this driver's own
// functions and the recorded version.
//
// Device memory is address space that the host cannot access. Pinned and managed memory is accessible; what
// devices wrote there appears when the program waits for them, as far as it was recorded. Host functions run
// in their order on a thread of the driver; a call that waits for work waits for them.
class Driver {
 public:
  // Throws mock::PoolExhausted.
  explicit Driver(Recording recording, DriverOptions options = {});
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  // Returns the driver whose calls are answered. It outlives this object: later calls return
  // CUDA_ERROR_DEINITIALIZED.
  cushim::Driver &driver() const noexcept;
  operator cushim::Driver &() const noexcept { return driver(); }

  // Returns the number of recorded calls that the program has not made.
  std::size_t calls_left() const;
  // Returns the first deviation; nullopt if there was none.
  std::optional<Deviation> deviation() const;

  // Sets the default of DriverOptions::on_deviation; null restores it.
  static void on_deviation_by_default(void (*action)(const Deviation &deviation)) noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cushim::replay
