// SPDX-License-Identifier: Apache-2.0
#include "inside.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace cushim {
inline namespace v1 {
namespace mock {

namespace {

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

std::atomic<InsideCounts *> all{nullptr};

}  // namespace

constinit thread_local InsideCounts *InsideCounts::own_ = nullptr;
constinit std::atomic<bool> InsideCounts::is_cheap_{false};

// Gives a thread's counts back when it ends. What it calls after that has counts that stay its own.
struct InsideCounts::Keeper {
  ~Keeper() {
    if (InsideCounts *const own = std::exchange(own_, nullptr)) own->is_given.store(false);
  }
};

InsideCounts &InsideCounts::give() {
  static thread_local Keeper keeper;
  static_cast<void>(keeper);
  for (InsideCounts *one = all.load(); one != nullptr && own_ == nullptr; one = one->next)
    if (!one->is_given.load(std::memory_order_relaxed) && !one->is_given.exchange(true)) own_ = one;
  if (own_ == nullptr) {
    own_ = new InsideCounts;
    own_->next = all.load();
    while (!all.compare_exchange_weak(own_->next, own_)) {
    }
  }
  return *own_;
}

void InsideCounts::before_frames_are_taken() noexcept {
  static const bool has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  is_cheap_ = has_membarrier;
}

void InsideCounts::wait_for_all(int frame) noexcept {
  if (is_cheap_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (InsideCounts *one = all.load(); one != nullptr; one = one->next)
    for (int count = one->of[frame]; count != 0; count = one->of[frame]) one->of[frame].wait(count);
}

void InsideCounts::tell(int frame) noexcept { of[frame].notify_all(); }

}  // namespace mock
}  // namespace v1
}  // namespace cushim
