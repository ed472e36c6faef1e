// SPDX-License-Identifier: Apache-2.0
// Which calls are inside which frame. Each thread counts its own and writes no memory that another one
// writes, so that calls of different threads do not slow each other down; who ends a frame looks at the
// counts of all.
#pragma once

#include "pool.hpp"

namespace cushim {
inline namespace v1 {
namespace mock {

// A thread's counts, by the frame's number. Never freed; those of a thread that has ended go to another.
struct alignas(64) InsideCounts {
  std::atomic<int> of[Frame::kCount]{};
  std::atomic<bool> is_given{true};
  InsideCounts *next = nullptr;  // of all; does not change

  static InsideCounts &of_this_thread() {
    InsideCounts *const own = own_;
    return own != nullptr ? *own : give();
  }

  // Before the first frame is taken. Calls may come already.
  static void before_frames_are_taken() noexcept;

  // Waits until no thread is inside the frame, which is not taken any more.
  static void wait_for_all(int frame) noexcept;

  // The one that waits for the frame's calls.
  void tell(int frame) noexcept;

  // The calling thread's alone.
  void set(int frame, int count) noexcept {
    if (is_cheap_.load(std::memory_order_relaxed)) {
      of[frame].store(count, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      of[frame].exchange(count);
    }
  }

 private:
  static InsideCounts &give();

  struct Keeper;
  static constinit thread_local InsideCounts *own_;
  static constinit std::atomic<bool> is_cheap_;
};

// While it lives, a call is inside the frame; false if the frame was not taken.
//
// A call writes its count and then looks whether the frame is taken; who ends the frame does so in the
// reverse order, so that one sees the other. That takes a barrier between writing and looking on both sides.
// Where the system has membarrier(), the one that ends a frame makes it for all threads, and calls need none.
class Frame::Inside {
 public:
  Inside(Frame &frame, int number) : frame_(frame), number_(number), counts_(InsideCounts::of_this_thread()) {
    counts_.set(number_, count() + 1);
    taken_ = frame_.taken_.load();
  }
  [[gnu::always_inline]] ~Inside() {
    counts_.set(number_, count() - 1);
    if (!frame_.taken_.load()) counts_.tell(number_);
  }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
  explicit operator bool() const { return taken_; }

  // How many calls of this thread are inside.
  static int here(const Frame &frame) {
    return InsideCounts::of_this_thread().of[frame.number()].load(std::memory_order_relaxed);
  }

 private:
  int count() const noexcept { return counts_.of[number_].load(std::memory_order_relaxed); }

  Frame &frame_;
  const int number_;
  InsideCounts &counts_;
  bool taken_;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
