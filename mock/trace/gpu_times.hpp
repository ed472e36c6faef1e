// SPDX-License-Identifier: Apache-2.0
// Measures how long the work of calls takes on the device, by events that are recorded before and after it.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "recorder.hpp"

namespace cushim::trace {

// Calls the driver's own functions, which bypasses hooks, and ignores their errors. Records no event while a
// stream is captured. Reuses events, and destroys all of them before a call that ends a context.
class GpuTimes final : public CallObserver {
 public:
  GpuTimes(Driver &driver, Recorder &recorder);
  ~GpuTimes();

  std::uint64_t begin(int slot, std::span<const std::uint64_t> words) override;
  void end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) override;

 private:
  // The work of a call, between two events.
  struct Work {
    CUevent begin = nullptr, end = nullptr;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    std::uint64_t call = 0;   // CallObserver's
    std::uint64_t asked = 0;  // ticks before the first event was recorded
  };
  // Measures the times of a context's events, in nanoseconds since the first of them.
  struct Clock {
    std::uint64_t number = 0;
    CUevent event = nullptr;  // later times are measured from this one
    std::int64_t time = 0;    // of the event
  };
  struct Functions;

  bool is_any_captured() const { return captures_.load(std::memory_order_relaxed) != 0; }
  void follow_capture(int slot, std::span<const std::uint64_t> words, CUresult result);
  // Records the event before the work of a call of this thread.
  void start(CUstream stream);
  CUevent take_event(CUcontext context);
  void put_back(const Work &work);
  // Reads the times of work that has ended.
  void read();
  bool read(const Work &work);
  void destroy_all();

  Recorder &recorder_;
  const std::unique_ptr<const Functions> driver_;
  std::atomic<std::size_t> captures_{0};
  std::atomic<std::size_t> unread_{0};

  mock::Mutex mutex_;  // guards the members below
  std::set<std::uint64_t> captured_;
  std::map<CUcontext, std::vector<CUevent>> free_;
  std::map<CUcontext, Clock> clocks_;
  std::deque<Work> work_;  // not yet read, oldest first
  std::uint64_t last_clock_ = 0;

  static thread_local Work started_;
};

}  // namespace cushim::trace
