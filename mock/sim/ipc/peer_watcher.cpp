// SPDX-License-Identifier: Apache-2.0
#include "ipc/peer_watcher.hpp"

#include <cushim/mock/own_thread.hpp>

#include <chrono>
#include <cstdio>

namespace cushim::sim {

namespace {

// The interval at which a process that may have been killed is checked.
constexpr auto kPatience = std::chrono::milliseconds(100);

}  // namespace

PeerWatcher::PeerWatcher(Engine &engine, mock::Mutex &mutex, std::shared_ptr<ShareTable> table)
    : engine_(engine), mutex_(mutex), table_(std::move(table)) {}

PeerWatcher::~PeerWatcher() {
  thread_.request_stop();
  table_->ring();
}

void PeerWatcher::add(std::shared_ptr<AwaitedRecord> awaited) {
  if (!is_running_) thread_ = mock::start_thread([this](const std::stop_token &stop) { run(stop); });
  is_running_ = true;
  awaited_.push_back(std::move(awaited));
}

void PeerWatcher::run(const std::stop_token &stop) {
  using Clock = std::chrono::steady_clock;
  Engine::Lock lock(mutex_);
  auto next_look = Clock::now() + kPatience, last_awaited = Clock::now();
  while (!stop.stop_requested()) {
    // Read the counter before the conditions: a later change increments it again.
    const std::uint32_t bell = table_->bell();
    const auto now = Clock::now();
    if (now >= next_look) {
      find_lost();
      next_look = now + kPatience;
    }
    const auto over = std::erase_if(awaited_, [](const auto &awaited) { return awaited->is_over(); });
    if (over != 0) engine_.recheck_announced(lock);
    if (!awaited_.empty()) last_awaited = now;
    if (now >= last_awaited + kPatience) break;
    lock.unlock();
    table_->wait_for_completion(bell, kPatience);
    lock.lock();
  }
  table_->stop_watching();
  is_running_ = false;
}

void PeerWatcher::find_lost() {
  for (const auto &awaited : awaited_) {
    if (awaited->is_over() || !table_->is_gone(awaited->record.participant)) continue;
    awaited->is_lost = true;
    std::fprintf(
        stderr,
        "cushim[sim]: process %lld ended before the event that it recorded was complete; waits for the "
        "event return\n",
        static_cast<long long>(table_->layout().participants[awaited->record.participant.index].process.id));
  }
}

}  // namespace cushim::sim
