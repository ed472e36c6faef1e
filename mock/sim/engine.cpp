// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <cushim/mock/own_thread.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unordered_set>

namespace cushim::sim {

namespace {

constexpr std::size_t kOrderKept = 1000;

// From how many bytes on a move is worth giving the lock back.
constexpr std::size_t kLongMove = 64 << 10;

// After what time a wait asks again whether anything can end it.
constexpr auto kAskAgain = std::chrono::milliseconds(50);

// How often memory is looked at that the program may write to.
constexpr auto kLook = std::chrono::microseconds(100);

// How long a host function may take until the engine goes on with other work. Not a time that a result
// depends on, unless the function waits for the program.
constexpr auto kHostFunctionGrace = std::chrono::milliseconds(20);

struct Counted {
  explicit Counted(int &count) : count(count) { ++count; }
  ~Counted() { --count; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
  int &count;
};

// Whether the calling thread is the program's only one. It is not known where the system does not tell, nor
// while threads of our own begin or end.
bool is_only_thread() {
  const long own = mock::own_threads;
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return !error && std::distance(begin(tasks), end(tasks)) - own == 1 && mock::own_threads == own;
}

}  // namespace

Engine::Engine(mock::Mutex &mutex, const Options &options)
    : mutex_(mutex), options_(options), schedule_(options.schedule), random_(options.seed) {
  if (schedule_ == Schedule::background)
    background_ = std::jthread([this](const std::stop_token &stop) { background_thread(stop); });
}

void Engine::work_in_background() {
  has_others_ = true;
  if (background_.joinable()) return;
  schedule_ = Schedule::background;
  background_ = std::jthread([this](const std::stop_token &stop) { background_thread(stop); });
  notify();
}

Engine::~Engine() {
  // The one that may start the other ends first.
  for (std::jthread *const thread : {&background_, &host_thread_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
  // What has not run does not run; what comes after what is known on both sides, so nothing would end by
  // itself.
  std::vector<Work> left(host_functions_.begin(), host_functions_.end());
  for (const auto &[place, work] : ready_) left.push_back(work);
  while (!left.empty()) {
    const Work work = left.back();
    left.pop_back();
    left.insert(left.end(), work->before.begin(), work->before.end());
    work->before.clear();
    work->after.clear();
  }
}

Work Engine::add(Operation &&operation) {
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
  if (work->blockers == 0) work->state = Operation::State::ready;
  return work;
}

void Engine::start(Lock &lock, const Work &work) {
  if (work->state == Operation::State::ready) {
    if (schedule_ == Schedule::eager && ready_.empty() && can_run(*work)) {
      run(lock, work);
      if (!ready_.empty()) run_at_call(lock);  // what others added while the lock was given back
      return;
    }
    ready_.emplace(work->serial, work);
  }
  run_at_call(lock);
  notify();
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
  const Work work = place->second;
  ready_.erase(place);
  run(lock, work);
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

void Engine::run(Lock &lock, const Work &work) {
  order_.push_back({work->serial, work->stream, work->name});
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
  work->state = Operation::State::running;
  if (work->run != nullptr) {
    Move move;
    work->run(move);
    make(lock, move);
  }
  complete(*work);
}

// A long move is made without the lock, so that other threads' calls and moves go on. Who would end the
// memory waits for the operation first.
void Engine::make(Lock &lock, const Move &move) {
  const auto copy = [&move] { std::memmove(move.to, move.from, move.size); };
  if (move.size == 0) return;
  if (move.size < kLongMove || waiting_for_moves_ != 0) return copy();
  {
    const Counted under_way(moves_);
    lock.unlock();
    copy();
    lock.lock();
  }
}

void Engine::wait_for_moves(Lock &lock) {
  const Counted waiting(waiting_), waiting_for_moves(waiting_for_moves_);
  changed_.wait(lock, [this] { return moves_ == 0; });
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
  operation.waits_for = nullptr;
  operation.not_before = nullptr;
  notify();
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

bool Engine::wait(Lock &lock, std::span<const Work> works, const char *call) {
  std::optional<std::chrono::steady_clock::time_point> patient_until;
  bool is_reported = false;
  while (!std::ranges::all_of(works, &sim::is_complete)) {
    if (schedule_ != Schedule::background) {
      if (schedule_ == Schedule::deferred || schedule_ == Schedule::stepped) {
        const auto needed = needed_for(works);
        if (run_one(lock, &needed)) continue;
      }
      // Also where only what is needed was to run: a wait for memory may need any other operation.
      if (run_one(lock)) continue;
    }
    if (is_deadlocked()) {
      report(std::string(call) + ": deadlock: no work can run, and nobody else can change that:\n" + stuck());
      return false;
    }
    if (!patient_until) patient_until = std::chrono::steady_clock::now() + options_.patience;
    sleep(lock);
    if (is_reported || std::chrono::steady_clock::now() < *patient_until) continue;
    is_reported = true;
    report(std::string(call) + " still waits:\n" + stuck());
  }
  for (const Work &work : works)
    if (work != nullptr) advance_to(work->completed_at);
  return true;
}

// Certain only where nobody is left that could write memory, open a gate or put more work into a stream.
bool Engine::is_deadlocked() const {
  if (has_others_ || in_host_function_ != nullptr || !host_functions_.empty() || moves_ != 0 ||
      ready_.empty())
    return false;
  const auto is_hopeless = [this](const auto &entry) {
    return entry.second->is_engines && !can_run(*entry.second);
  };
  return std::ranges::all_of(ready_, is_hopeless) && is_only_thread();
}

void Engine::abandon(const void *owner, std::span<const Work> works, CUresult fault) {
  for (const Operation *one : needed_for(works)) {
    if (one->owner != owner || one->state == Operation::State::running) continue;
    Operation &operation = const_cast<Operation &>(*one);
    operation.fault = fault;
    operation.is_ready = nullptr;
    operation.not_before = nullptr;
    operation.run = nullptr;
    operation.on_host = nullptr;
  }
  // In every schedule: there is nothing left to choose. What completes makes others ready, so each search
  // begins anew.
  const auto is_abandoned = [](const auto &entry) { return entry.second->fault != CUDA_SUCCESS; };
  while (true) {
    const auto place = std::ranges::find_if(ready_, is_abandoned);
    if (place == ready_.end()) break;
    const Work work = place->second;
    ready_.erase(place);
    complete(*work);
  }
}

bool Engine::step(Lock &lock) { return run_one(lock); }

void Engine::run_all(Lock &lock) {
  const Counted waiting(waiting_);
  const auto is_quiet = [this] {
    return moves_ == 0 && host_functions_.empty() && in_host_function_ == nullptr;
  };
  do {
    while (run_one(lock)) {
    }
    if (is_quiet()) return;
    changed_.wait(
        lock, [this] { return moves_ == 0 && (host_functions_.empty() || in_host_function_ != nullptr); });
    changed_.wait_for(lock, kHostFunctionGrace, is_quiet);
  } while (is_quiet() || choose(nullptr) != ready_.end());
}

void Engine::look_again(Lock &lock) {
  run_at_call(lock);
  notify();
}

// Memory changes without a word, so while an operation waits for memory it is looked at again and again.
bool Engine::looks_at_memory() const {
  return std::ranges::any_of(ready_, [](const auto &entry) {
    return entry.second->is_ready != nullptr && !entry.second->is_announced;
  });
}

// Until something changes.
void Engine::sleep(Lock &lock) {
  const Counted waiting(waiting_);
  if (schedule_ != Schedule::background && looks_at_memory())
    changed_.wait_for(lock, kLook);
  else
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(kAskAgain, options_.patience));
}

void Engine::start_host_function(Lock &lock, Work work) {
  work->state = Operation::State::running;
  if (!host_thread_.joinable())
    host_thread_ = std::jthread([this](const std::stop_token &stop) { host_thread(stop); });
  host_functions_.push_back(work);
  host_work_.notify_all();
  // The functions' own thread begins this one when it has ended the one before.
  if (schedule_ == Schedule::background || is_host_thread()) return;
  // A function that does not wait for the program ends here, so that every run is alike. One that does
  // would never end: the engine goes on without it.
  const Counted waiting(waiting_);
  changed_.wait(lock, [&] { return work->is_complete() || in_host_function_ == work.get(); });
  changed_.wait_for(lock, kHostFunctionGrace, [&] { return work->is_complete(); });
}

void Engine::host_thread(const std::stop_token &stop) {
  const mock::OwnThread counted;
  host_thread_id_ = std::this_thread::get_id();
  Lock lock(mutex_);
  while (host_work_.wait(lock, stop, [this] { return !host_functions_.empty(); })) {
    if (stop.stop_requested()) return;
    const Work work = host_functions_.front();
    host_functions_.pop_front();
    in_host_function_ = work.get();
    notify();
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
  const mock::OwnThread counted;
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (run_one(lock)) continue;
    const Counted waiting(waiting_);
    const auto can_go_on = [this] { return choose(nullptr) != ready_.end(); };
    if (looks_at_memory())
      changed_.wait_for(lock, stop, kLook, can_go_on);
    else
      changed_.wait(lock, stop, [&] { return looks_at_memory() || can_go_on(); });
  }
}

// ---- In words ----

std::string Engine::in_words(const Operation &operation) const {
  std::string text = "#" + std::to_string(operation.serial) + " stream " + std::to_string(operation.stream);
  if (const auto name = names_.find(operation.stream); name != names_.end())
    text += " (" + name->second + ")";
  return text + ": " + operation.name;
}

std::string Engine::order() const {
  std::string text;
  for (const Ran &ran : order_)
    text += in_words({.name = ran.name, .stream = ran.stream, .serial = ran.serial}) + "\n";
  if (unfinished_ != 0) text += "not run: " + std::to_string(unfinished_) + "; next could be\n" + stuck();
  return text;
}

// What stands at the heads of the streams, and what it waits for.
std::string Engine::stuck() const {
  std::string text;
  if (in_host_function_ != nullptr) text += "  " + in_words(*in_host_function_) + " runs\n";
  for (const Work &work : host_functions_) text += "  " + in_words(*work) + " is to run\n";
  for (const auto &[serial, work] : ready_) {
    text += "  " + in_words(*work);
    if (work->waits_for != nullptr) text += " waits for " + work->waits_for();
    text += "\n";
  }
  return text;
}

void Engine::report(const std::string &text) const {
  if (options_.report != nullptr)
    options_.report(text);
  else
    std::fprintf(stderr, "cushim[sim]: %s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

}  // namespace cushim::sim
