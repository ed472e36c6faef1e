// SPDX-License-Identifier: Apache-2.0
// Waits with a timeout, for driver objects that have no such wait.
#pragma once

#include <cushim/detail/handle.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace cushim {
inline namespace v1 {
namespace detail {

// Polls is_done until it returns true (returns true) or the deadline has passed (returns false). Polls at
// least once, and once more after the deadline. Between polls, first yields the processor, then sleeps for
// periods that grow to 1 ms.
template <class Clock, class Duration, class IsDone>
bool poll_until(const std::chrono::time_point<Clock, Duration> &deadline, IsDone is_done) {
  using namespace std::chrono_literals;
  for (int attempt = 0;; ++attempt) {
    const bool is_late = Clock::now() >= deadline;
    if (is_done()) return true;
    if (is_late) return false;
    if (attempt < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min(10us * (attempt - 99), 1000us));
  }
}

// Returns the deadline of a timeout that begins now. A long timeout does not overflow.
template <class Rep, class Period>
std::chrono::steady_clock::time_point deadline_after(std::chrono::duration<Rep, Period> timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  if (timeout >= std::chrono::duration<double>(Clock::time_point::max() - now))
    return Clock::time_point::max();
  return now + std::chrono::ceil<Clock::duration>(timeout);
}

// The queries and waits of events and streams. Self has kQuery and kSynchronize, the driver's calls.
template <class Self, class Handle>
class Waitable : public NounBase<Self, Handle> {
 public:
  // Returns whether the work is done: what an event recorded, or all work in a stream. Returns true for an
  // event that was never recorded. Driver calls: cuEventQuery or cuStreamQuery.
  bool is_done(Where where = Where::current()) const {
    const CUresult result = Self::kQuery(this->driver(), this->handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    check(result, Self::kQuery.name, where, this->self());
    return true;
  }

  // Waits until the work is done. Driver calls: cuEventSynchronize or cuStreamSynchronize.
  void synchronize(Where where = Where::current()) const {
    check(Self::kSynchronize(this->driver(), this->handle()), Self::kSynchronize.name, where, this->self());
  }

  // Waits until the work is done (returns true) or the timeout has passed (returns false). Throws
  // INVALID_VALUE, without a driver call, if the timeout is negative. Driver calls: those of is_done(),
  // repeatedly.
  template <class Rep, class Period>
  bool synchronize_for(std::chrono::duration<Rep, Period> timeout, Where where = Where::current()) const {
    if (timeout < timeout.zero())
      fail(CUDA_ERROR_INVALID_VALUE, Self::kQuery.name, where, this->self().ref(),
           Remark{"timeout is negative"});
    return synchronize_until(deadline_after(timeout), where);
  }
  // Waits until the work is done (returns true) or the deadline has passed (returns false).
  // Driver calls: those of is_done(), repeatedly.
  template <class Clock, class Duration>
  bool synchronize_until(std::chrono::time_point<Clock, Duration> deadline,
                         Where where = Where::current()) const {
    return poll_until(deadline, [&] { return this->self().is_done(where); });
  }

 protected:
  Waitable() = default;
  Waitable(const Waitable &) = default;
  Waitable &operator=(const Waitable &) = default;
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim
