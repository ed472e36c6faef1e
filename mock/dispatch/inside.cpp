// SPDX-License-Identifier: Apache-2.0
#include "inside.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <cushim/detail/inside_call.hpp>

namespace cushim::mock {

namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

std::atomic<InsideCounts *> all{nullptr};

}  // namespace

constinit thread_local InsideCounts *InsideCounts::own_ = nullptr;
constinit std::atomic<bool> InsideCounts::has_membarrier_{false};

// Releases a thread's counts when it ends. If the thread calls the driver after that, it keeps new counts
// permanently.
struct InsideCounts::Keeper {
  ~Keeper() {
    if (InsideCounts *const own = std::exchange(own_, nullptr)) own->is_assigned.store(false);
  }
};

InsideCounts &InsideCounts::assign() {
  static thread_local Keeper keeper;
  static_cast<void>(keeper);
  for (InsideCounts *one = all.load(); one != nullptr && own_ == nullptr; one = one->next)
    if (!one->is_assigned.load(std::memory_order_relaxed) && !one->is_assigned.exchange(true)) own_ = one;
  if (own_ == nullptr) {
    own_ = new InsideCounts;
    own_->next = all.load();
    while (!all.compare_exchange_weak(own_->next, own_)) {
    }
  }
  return *own_;
}

void InsideCounts::before_driver_slots_are_taken() noexcept {
  static const bool has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  has_membarrier_ = has_membarrier;
}

void InsideCounts::wait_for_all(int driver_slot) noexcept {
  if (has_membarrier_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (InsideCounts *one = all.load(); one != nullptr; one = one->next)
    for (int count = one->of[driver_slot]; count != 0; count = one->of[driver_slot])
      one->of[driver_slot].wait(count);
}

void InsideCounts::notify(int driver_slot) noexcept { of[driver_slot].notify_all(); }

bool is_inside_call() noexcept {
  return std::ranges::any_of(InsideCounts::of_this_thread().of,
                             [](const std::atomic<int> &count) { return count != 0; });
}

}  // namespace cushim::mock
