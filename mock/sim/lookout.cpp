// SPDX-License-Identifier: Apache-2.0
#include "lookout.hpp"

#include <cstdio>

namespace cushim::sim {

namespace {

// How long a process that was killed is waited for. No result depends on it.
constexpr auto kPatience = std::chrono::milliseconds(100);

}  // namespace

Lookout::Lookout(Engine &engine, mock::Mutex &mutex, std::shared_ptr<ShareTable> table)
    : engine_(engine), mutex_(mutex), table_(std::move(table)) {}

Lookout::~Lookout() {
  thread_.request_stop();
  table_->ring();
}

void Lookout::add(std::shared_ptr<Awaited> awaited) {
  awaited_.push_back(std::move(awaited));
  if (is_running_) return;
  is_running_ = true;
  thread_ = std::jthread([this](const std::stop_token &stop) { run(stop); });
}

void Lookout::run(const std::stop_token &stop) {
  Engine::Lock lock(mutex_);
  bool was_quiet = false;
  while (!stop.stop_requested()) {
    // Before anything is looked at: what changes afterwards rings again.
    const std::uint32_t bell = table_->bell();
    if (was_quiet) find_lost();
    const auto over = std::erase_if(awaited_, [](const auto &awaited) { return awaited->is_over(); });
    if (over != 0) engine_.look_again(lock);
    if (awaited_.empty() && was_quiet) break;
    lock.unlock();
    was_quiet = !table_->wait_for_bell(bell, kPatience);
    lock.lock();
  }
  is_running_ = false;
}

void Lookout::find_lost() {
  for (const auto &awaited : awaited_) {
    if (awaited->is_over() || !table_->is_gone(awaited->record.participant)) continue;
    awaited->is_lost = true;
    std::fprintf(
        stderr,
        "cushim[sim]: process %lld ended before the event that it recorded was complete; whoever waits "
        "for it goes on\n",
        static_cast<long long>(table_->layout().participants[awaited->record.participant].process.id));
  }
}

}  // namespace cushim::sim
