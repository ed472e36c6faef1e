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
  if (!handle.process.is_alive()) return {.answer = ended};
  if (handle.user != geteuid())
    return {.answer = refused, .reason = "it comes from a process of another user"};
  if (auto known = opened_[handle.nonce].lock()) return {.answer = opened, .table = std::move(known)};
  std::erase_if(opened_, [](const auto &entry) { return entry.second.expired(); });
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

}  // namespace cushim::sim
