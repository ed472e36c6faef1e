// SPDX-License-Identifier: Apache-2.0
// Counts the calls inside each driver slot. Each thread counts its own calls and writes no memory that
// another thread writes, so that calls of different threads do not slow each other down. retire() reads the
// counts of all threads.
#pragma once

#include "pool.hpp"

namespace cushim::mock {

// A thread's counts, by driver slot number. Never freed; the counts of a thread that has ended are reused
// by another.
struct alignas(64) InsideCounts {
  std::atomic<int> of[DriverSlot::kCount]{};
  std::atomic<bool> is_assigned{true};
  InsideCounts *next = nullptr;  // list of all counts; does not change

  static InsideCounts &of_this_thread() {
    InsideCounts *const own = own_;
    return own != nullptr ? *own : assign();
  }

  // Call before the first driver slot is taken. Calls may already be running.
  static void before_driver_slots_are_taken() noexcept;

  // Waits until no thread is inside the driver slot, which must no longer be taken.
  static void wait_for_all(int driver_slot) noexcept;

  // Wakes up the thread that waits for the driver slot's calls.
  void notify(int driver_slot) noexcept;

  // Call only on the thread that owns the counts.
  void set(int driver_slot, int count) noexcept {
    if (has_membarrier_.load(std::memory_order_relaxed)) {
      of[driver_slot].store(count, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      of[driver_slot].exchange(count);
    }
  }

 private:
  static InsideCounts &assign();

  struct Keeper;
  static constinit thread_local InsideCounts *own_;
  static constinit std::atomic<bool> has_membarrier_;
};

// Marks a call as inside the driver slot; converts to false if the slot is not taken.
//
// A call writes its count and then reads whether the slot is taken; retire() writes that the slot is not
// taken and then reads the counts, so at least one of them sees the other. Both sides need a barrier
// between write and read. If the system has membarrier(), retire() makes the barrier for all threads, and
// calls need none.
class DriverSlot::Inside {
 public:
  Inside(DriverSlot &driver_slot, int number)
      : driver_slot_(driver_slot), number_(number), counts_(InsideCounts::of_this_thread()) {
    counts_.set(number_, count() + 1);
    taken_ = driver_slot_.taken_.load();
  }
  [[gnu::always_inline]] ~Inside() {
    counts_.set(number_, count() - 1);
    if (!driver_slot_.taken_.load()) counts_.notify(number_);
  }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
  explicit operator bool() const { return taken_; }

  // Returns the number of calls of this thread that are inside.
  static int here(const DriverSlot &driver_slot) {
    return InsideCounts::of_this_thread().of[driver_slot.number()].load(std::memory_order_relaxed);
  }

 private:
  int count() const noexcept { return counts_.of[number_].load(std::memory_order_relaxed); }

  DriverSlot &driver_slot_;
  const int number_;
  InsideCounts &counts_;
  bool taken_;
};

}  // namespace cushim::mock
