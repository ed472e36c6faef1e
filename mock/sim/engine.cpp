// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unordered_set>

namespace cushim::sim {

namespace {

constexpr std::size_t kOrderKept = 200;

// How often memory is looked at that the program may write to.
constexpr auto kLook = std::chrono::microseconds(100);

// How long a host function may take until the engine goes on with other work. Not a time that a result
// depends on, unless the function waits for the program.
constexpr auto kHostFunctionGrace = std::chrono::milliseconds(20);

}  // namespace

Engine::Engine(std::mutex &mutex, Schedule schedule, std::uint64_t seed)
    : mutex_(mutex), schedule_(schedule), random_(seed) {
  if (schedule == Schedule::background)
    background_ = std::jthread([this](const std::stop_token &stop) { background_thread(stop); });
}

void Engine::work_in_background() {
  if (background_.joinable()) return;
  schedule_ = Schedule::background;
  background_ = std::jthread([this](const std::stop_token &stop) { background_thread(stop); });
  changed_.notify_all();
}

Engine::~Engine() {
  background_.request_stop();
  host_thread_.request_stop();
}

Work Engine::submit(Lock &lock, Operation operation) {
  auto work = std::make_shared<Operation>(std::move(operation));
  work->serial = ++submitted_;
  work->submitted_at = now_;
  ++unfinished_;
  for (const Work &earlier : work->after) {
    if (earlier == nullptr) continue;
    if (earlier->is_complete()) {
      work->completed_at = std::max(work->completed_at, earlier->completed_at);
    } else {
      ++work->blockers;
      earlier->before.push_back(work);
    }
  }
  std::erase_if(work->after, [](const Work &earlier) { return is_complete(earlier); });
  if (work->blockers == 0) {
    work->state = Operation::State::ready;
    ready_.emplace(work->serial, work);
  }
  run_at_call(lock);
  changed_.notify_all();
  return work;
}

bool Engine::can_run(const Operation &operation) const {
  return operation.is_ready == nullptr || operation.is_ready();
}

Engine::Ready::iterator Engine::choose(const std::vector<const Operation *> *needed) {
  std::vector<Ready::iterator> places;
  for (auto place = ready_.begin(); place != ready_.end(); ++place) {
    const Operation &operation = *place->second;
    if (needed != nullptr && !std::ranges::binary_search(*needed, &operation)) continue;
    if (!can_run(operation)) continue;
    if (schedule_ != Schedule::seeded) return place;
    places.push_back(place);
  }
  if (places.empty()) return ready_.end();
  return places[random_() % places.size()];
}

bool Engine::run_one(Lock &lock, const std::vector<const Operation *> *needed) {
  const auto place = choose(needed);
  if (place == ready_.end()) return false;
  run(lock, place);
  return true;
}

void Engine::run_at_call(Lock &lock) {
  switch (schedule_) {
    case Schedule::eager:
      while (run_one(lock)) {
      }
      break;
    case Schedule::seeded:
      while (random_() % 3 == 0 && run_one(lock)) {
      }
      break;
    case Schedule::deferred:
    case Schedule::stepped:
    case Schedule::background:
      break;
  }
}

void Engine::run(Lock &lock, Ready::iterator place) {
  const Work work = place->second;
  ready_.erase(place);
  order_.emplace_back(work->stream, work->name);
  if (order_.size() > kOrderKept) order_.pop_front();
  // completed_at holds, until it completes, when the last of what it came after did.
  Time start = std::max(work->completed_at, work->submitted_at);
  if (work->resource != nullptr) start = std::max(start, work->resource->free_at);
  if (work->not_before != nullptr) start = std::max(start, work->not_before());
  work->completed_at = start + work->cost;
  if (work->resource != nullptr) work->resource->free_at = work->completed_at;
  if (work->on_host != nullptr) {
    start_host_function(lock, work);
    return;
  }
  if (work->run != nullptr) work->run();
  complete(*work);
}

void Engine::complete(Operation &operation) {
  if (operation.on_complete != nullptr) operation.on_complete(operation.completed_at);
  operation.on_complete = nullptr;
  operation.state = Operation::State::complete;
  --unfinished_;
  for (const Work &later : operation.before) {
    later->completed_at = std::max(later->completed_at, operation.completed_at);
    if (--later->blockers != 0) continue;
    later->state = Operation::State::ready;
    later->after.clear();
    ready_.emplace(later->serial, later);
  }
  operation.before.clear();
  operation.after.clear();
  operation.run = nullptr;
  operation.is_ready = nullptr;
  operation.not_before = nullptr;
  changed_.notify_all();
}

bool Engine::query(Lock &lock, std::span<const Work> works) {
  if (schedule_ == Schedule::eager) run_at_call(lock);  // memory may have been written since
  const bool are_complete = std::ranges::all_of(works, &sim::is_complete);
  if (are_complete) {
    for (const Work &work : works)
      if (work != nullptr) advance_to(work->completed_at);
    return true;
  }
  if (schedule_ == Schedule::deferred || schedule_ == Schedule::seeded) {
    const auto needed = needed_for(works);
    if (!run_one(lock, &needed)) run_one(lock);
  }
  return false;
}

// What must complete before all of these are complete, sorted.
std::vector<const Operation *> Engine::needed_for(std::span<const Work> works) {
  std::unordered_set<const Operation *> seen;
  std::vector<const Operation *> rest;
  const auto add = [&](const Work &work) {
    if (!is_complete(work) && seen.insert(work.get()).second) rest.push_back(work.get());
  };
  for (const Work &work : works) add(work);
  while (!rest.empty()) {
    const Operation *const operation = rest.back();
    rest.pop_back();
    for (const Work &earlier : operation->after) add(earlier);
  }
  std::vector<const Operation *> needed(seen.begin(), seen.end());
  std::ranges::sort(needed);
  return needed;
}

void Engine::wait(Lock &lock, std::span<const Work> works) {
  while (!std::ranges::all_of(works, &sim::is_complete)) {
    if (schedule_ != Schedule::background) {
      if (schedule_ == Schedule::deferred || schedule_ == Schedule::stepped) {
        const auto needed = needed_for(works);
        if (run_one(lock, &needed)) continue;
      }
      // Also where only what is needed was to run: a wait for memory may need any other operation.
      if (run_one(lock)) continue;
    }
    sleep(lock);
  }
  for (const Work &work : works)
    if (work != nullptr) advance_to(work->completed_at);
}

bool Engine::step(Lock &lock) { return run_one(lock); }

void Engine::look_again(Lock &lock) {
  run_at_call(lock);
  changed_.notify_all();
}

// Memory changes without a word, so while an operation waits for memory it is looked at again and again.
bool Engine::looks_at_memory() const {
  return std::ranges::any_of(ready_, [](const auto &entry) {
    return entry.second->is_ready != nullptr && !entry.second->is_announced;
  });
}

// Until something changes.
void Engine::sleep(Lock &lock) {
  if (schedule_ != Schedule::background && looks_at_memory())
    changed_.wait_for(lock, kLook);
  else
    changed_.wait(lock);
}

void Engine::start_host_function(Lock &lock, Work work) {
  work->state = Operation::State::running;
  if (!host_thread_.joinable())
    host_thread_ = std::jthread([this](const std::stop_token &stop) { host_thread(stop); });
  host_functions_.push_back(work);
  host_work_.notify_all();
  if (schedule_ == Schedule::background) return;
  // A function that does not wait for the program ends here, so that every run is alike. One that does
  // would never end: the engine goes on without it.
  changed_.wait(lock, [&] { return work->is_complete() || in_host_function_ == work.get(); });
  changed_.wait_for(lock, kHostFunctionGrace, [&] { return work->is_complete(); });
}

void Engine::host_thread(const std::stop_token &stop) {
  host_thread_id_ = std::this_thread::get_id();
  Lock lock(mutex_);
  while (host_work_.wait(lock, stop, [this] { return !host_functions_.empty(); })) {
    if (stop.stop_requested()) return;
    const Work work = host_functions_.front();
    host_functions_.pop_front();
    in_host_function_ = work.get();
    changed_.notify_all();
    lock.unlock();
    work->on_host();
    lock.lock();
    in_host_function_ = nullptr;
    work->on_host = nullptr;
    complete(*work);
    if (schedule_ == Schedule::eager) run_at_call(lock);
  }
}

void Engine::background_thread(const std::stop_token &stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (run_one(lock)) continue;
    const auto can_go_on = [this] { return choose(nullptr) != ready_.end(); };
    if (looks_at_memory())
      changed_.wait_for(lock, stop, kLook, can_go_on);
    else
      changed_.wait(lock, stop, [&] { return looks_at_memory() || can_go_on(); });
  }
}

std::string Engine::order() const {
  std::string text;
  for (const auto &[stream, name] : order_) text += "stream " + std::to_string(stream) + ": " + name + "\n";
  return text;
}

}  // namespace cushim::sim
