// SPDX-License-Identifier: Apache-2.0
// Records every call of a driver, the real one included: arguments, results, values that the call wrote,
// thread and time. cushim/trace/trace.hpp reads the trace and writes it as text, JSON, a timeline or a
// summary.
//
//   trace::Tracer tracer(driver, "program.trace");
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/text.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cushim::mock {
class OperationObserver;  // cushim/mock/operations.hpp
}

namespace cushim::trace {

// Options of a Tracer.
struct TracerOptions {
  // Returns the virtual time of a simulated driver; empty for other drivers. Called after each call.
  std::function<std::chrono::nanoseconds()> virtual_time{};
  // Machine::observe() of a simulated driver, to record the operations of its streams; empty for other
  // drivers. Called with null when the Tracer ends.
  std::function<void(mock::OperationObserver *)> observe{};
  // Measure how long the work of each call takes on the device, by two events that are recorded around it,
  // except while a stream is captured. Costs two calls of the driver for each. Makes Call::gpu. The calls,
  // and their errors, are not the program's: checkers and faults that are hooks of another library see
  // nothing of them.
  bool gpu_times = false;
  // Returns the call stack of the call that runs on this thread, one line for each function; equal call
  // stacks have the same address. Empty: call stacks are not recorded. Called before each call; the texts
  // must exist until the Tracer ends.
  std::function<std::string_view()> call_stack{};
};

// Records while it exists, on all threads, by a hook on each entry point. Makes no driver call, except for
// TracerOptions::gpu_times. Each thread writes to memory that is mapped to the file, so a process that is
// killed leaves all calls up to then, the unfinished one included. A child of fork() records nothing. Copies
// of the values behind pointers are limited to single objects and the first element of arrays.
class Tracer {
 public:
  // Creates the file, or truncates it. Throws std::system_error if that fails, and as
  // mock::DriverSlot::over(). If the file system is full later, recording stops with a message on stderr.
  Tracer(Driver &driver, const std::string &file, TracerOptions options = {});
  ~Tracer();
  Tracer(const Tracer &) = delete;
  Tracer &operator=(const Tracer &) = delete;

  // Records a text at the call that runs on this thread, or at the present time if none does: a finding of a
  // checker, or a remark of the program. It is cut off after 2,000 bytes. Thread-safe.
  void note(std::string_view text);
  // Names an object in the trace: "stream#3 \"upload\"". The name applies from now on, and is cut off after
  // 120 bytes. Thread-safe.
  template <class Handle>
  void name(Handle handle, std::string_view text) {
    static_assert(mock::noun_of<Handle> != nullptr, "not a handle of the driver");
    name(mock::noun_of<Handle>, reinterpret_cast<std::uint64_t>(handle), text);
  }
  // As name(handle, text), for a noun of mock::noun_of. "thread" names a thread by the system's number.
  void name(std::string_view noun, std::uint64_t object, std::string_view text);
  // Notes the present time in the trace, which makes its times exact. The destructor does this too.
  void note_time() noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cushim::trace
