// SPDX-License-Identifier: Apache-2.0
// The threads of the engine: one for host functions, one for the background schedule.
#include <cushim/mock/own_thread.hpp>

#include <utility>

#include "engine/counted.hpp"
#include "engine/engine.hpp"
#include "engine/limits.hpp"

namespace cushim::sim {

void Engine::start_threads() {
  if (schedule_ == Schedule::background) start_background();
}

void Engine::start_background() {
  if (background_.joinable()) return;
  background_ = mock::start_thread([this](const std::stop_token &stop) { background_thread(stop); });
}

void Engine::start_host_thread() {
  if (!host_thread_.joinable())
    host_thread_ = mock::start_thread([this](const std::stop_token &stop) { host_thread(stop); });
}

void Engine::work_in_background() {
  start_background();
  has_others_ = true;
  schedule_ = Schedule::background;
  notify();
}

void Engine::start_host_function(Lock &lock, Task &task) {
  const Work work(&task);
  host_functions_.splice(host_functions_.end(), task.extras->host_function);
  host_work_.notify_all();
  // The host thread starts this function when it has ended the previous one.
  if (schedule_ == Schedule::background || is_host_thread()) return;
  // A function that does not wait for the program ends here, so that every run has the same order. One that
  // does would never end here: the engine continues without it.
  const Counted waiting(waiting_);
  task.is_awaited = true;
  changed_.wait(lock, [&] { return task.is_complete() || in_host_function_ == &task; });
  changed_.wait_for(lock, kHostFunctionGrace, [&] { return task.is_complete(); });
}

void Engine::host_thread(const std::stop_token &stop) {
  const mock::OwnThread counted;
  host_thread_id_ = std::this_thread::get_id();
  Lock lock(mutex_);
  while (host_work_.wait(lock, stop, [this] { return !host_functions_.empty(); })) {
    if (stop.stop_requested()) return;
    Task &task = *host_functions_.front();
    host_functions_.pop_front();
    in_host_function_ = &task;
    notify();
    lock.unlock();
    Move none;
    task.action(none);
    lock.lock();
    in_host_function_ = nullptr;
    may_have_changed_ = true;
    complete(task);
    notify();
    if (schedule_ == Schedule::eager) run_at_call(lock);
  }
}

void Engine::background_thread(const std::stop_token &stop) {
  const mock::OwnThread counted;
  Lock lock(mutex_);
  bool has_run = false;
  while (!stop.stop_requested()) {
    may_have_changed_ = true;
    if (run_one(lock) || check_polled(kWordsPolledWhenIdle)) {
      has_run = true;
      continue;
    }
    if (std::exchange(has_run, false)) notify();  // wakes waits, which check for a deadlock
    const Counted waiting(waiting_);
    const auto can_go_on = [this] {
      is_background_idle_ = !has_runnable();
      return !is_background_idle_;
    };
    if (polled_.empty())
      changed_.wait(lock, stop, [&] { return can_go_on() || !polled_.empty(); });
    else
      changed_.wait_for(lock, stop, kPollInterval, can_go_on);
    is_background_idle_ = false;
  }
}

}  // namespace cushim::sim
