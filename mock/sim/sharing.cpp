// SPDX-License-Identifier: Apache-2.0
#include "sharing.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cushim::sim {

std::shared_ptr<ShareTable> Sharing::own() {
  if (own_ == nullptr) own_ = ShareTable::make();
  return own_;
}

Sharing::Opened Sharing::open(const ShareHandle &handle) {
  using enum Opened::Answer;
  if (handle.namespace_of_id != process_namespace())
    return {.answer = refused,
            .reason =
                "it comes from a process in another PID namespace, which cannot be reached from here; "
                "let the containers share one (docker: --pid=container:NAME)"};
  if (handle.process == Process::self()) return {.answer = own};
  const bool is_alive = handle.process.is_alive();
  // Events outlive their maker where somebody has others of its own.
  auto known = opened_[handle.nonce].lock();
  if (known != nullptr && (is_alive || handle.kind == ShareHandle::Kind::event))
    return {.answer = opened, .table = std::move(known)};
  std::erase_if(opened_, [](const auto &entry) { return entry.second.expired(); });
  if (!is_alive) return {.answer = ended};
  if (handle.user != geteuid())
    return {.answer = refused, .reason = "it comes from a process of another user"};
  auto table = ShareTable::open(handle);
  if (table == nullptr) {
    if (errno == ENOENT || errno == ESTALE) return {.answer = ended};
    return {.answer = refused,
            .reason = "the process that it comes from cannot be reached: " +
                      std::generic_category().message(errno)};
  }
  opened_[handle.nonce] = table;
  return {.answer = opened, .table = std::move(table)};
}

Work Sharing::await(const std::shared_ptr<SharedEvent> &event, SharedEvent::Record record) {
  std::erase_if(lookouts_, [](const auto &entry) { return entry.second->is_idle(); });
  auto &lookout = lookouts_[event->table().get()];
  if (lookout == nullptr) lookout = std::make_unique<Lookout>(engine_, mutex_, event->table());
  const auto awaited = std::make_shared<Awaited>(Awaited{event, record});
  lookout->add(awaited);
  return engine_.add({.name = "another process",
                      .is_ready = [awaited] { return awaited->is_over(); },
                      .waits_for = [] { return "an event that another process recorded"; },
                      .is_announced = true,
                      .not_before = [event] { return event->completed_at(); }});
}

}  // namespace cushim::sim
