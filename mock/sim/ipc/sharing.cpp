// SPDX-License-Identifier: Apache-2.0
#include "ipc/sharing.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace cushim::sim {

namespace {

// The number of unused tables that are kept open. Each takes a mapping and two file descriptors.
constexpr std::size_t kUnusedKept = 16;

std::string value_of(decltype(RLIMIT_NOFILE) resource) {
  struct rlimit limit = {};
  if (getrlimit(resource, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

bool is_unused(const std::shared_ptr<ShareTable> &table) { return table.use_count() == 1; }

// Holds when a record by another process is complete or that process has ended.
class RecordCondition final : public Condition {
 public:
  explicit RecordCondition(std::shared_ptr<const AwaitedRecord> awaited) noexcept
      : Condition(ChangedBy::announcer), awaited_(std::move(awaited)) {}
  bool holds() const override { return awaited_->is_over(); }
  std::string to_text() const override { return "an event that another process recorded"; }
  Time since() const override { return awaited_->event->completed_at(); }

 private:
  const std::shared_ptr<const AwaitedRecord> awaited_;
};

}  // namespace

void report_limit(const char *call, int error) {
  std::string text = std::generic_category().message(error);
  if (error == EMFILE)
    text = "no file descriptor is free: RLIMIT_NOFILE is " + value_of(RLIMIT_NOFILE) + " (ulimit -n)";
  else if (error == ENFILE)
    text = "no file can be opened on this machine: fs.file-max is reached";
  else if (error == EFBIG)
    text = "the file is too large: RLIMIT_FSIZE is " + value_of(RLIMIT_FSIZE) + " bytes (ulimit -f)";
  else if (error == EUSERS)
    text = "the exporting process has " + std::to_string(ShareLayout::kParticipants) +
           " processes that share with it, which is the limit";
  std::fprintf(stderr, "cushim[sim]: %s: %s\n", call, text.c_str());
}

std::shared_ptr<ShareTable> Sharing::own() {
  if (own_ != nullptr) return own_;
  own_ = ShareTable::make();
  if (own_ != nullptr) numbers_.publish({own_, &own_->layout().numbers});
  return own_;
}

Sharing::Opened Sharing::open(const ShareHandle &handle) {
  using enum Opened::Answer;
  if (process_namespace() == 0)
    return {.answer = refused,
            .reason = "this process sees no /proc, through which that of others is reached"};
  if (handle.namespace_of_id == 0)
    return {.answer = refused,
            .reason = "it comes from a process that sees no /proc, and so cannot say which it is"};
  if (handle.namespace_of_id != process_namespace())
    return {.answer = refused,
            .reason =
                "it comes from a process in another PID namespace, which cannot be reached from here; "
                "let the containers share one (docker: --pid=container:NAME)"};
  if (handle.process() == Process::self()) return {.answer = own};
  if (const auto known = opened_.find(handle.nonce); known != opened_.end()) {
    // An event outlives its maker while an object of the maker's table is open here.
    const bool outlives = handle.kind == ShareHandle::Kind::event && !is_unused(known->second);
    if (!known->second->is_creator_dead() || outlives) return {.answer = opened, .table = known->second};
  }
  forget_unused();
  if (handle.process().is_gone()) return {.answer = ended};
  if (handle.user != geteuid())
    return {.answer = refused, .reason = "it comes from a process of another user"};
  auto table = ShareTable::open(handle);
  if (table == nullptr) {
    const int error = errno;
    if (error == ESTALE || handle.process().is_gone()) return {.answer = ended};
    if (error == ENOENT)
      return {.answer = refused,
              .reason =
                  "the process that it comes from has closed the driver's files or started another "
                  "program, or its files in /proc cannot be seen"};
    if (error == EMFILE || error == ENFILE || error == EUSERS) return {.answer = limited, .error = error};
    return {.answer = refused,
            .reason = "the process that it comes from cannot be reached: " +
                      std::generic_category().message(error)};
  }
  opened_[handle.nonce] = table;
  return {.answer = opened, .table = std::move(table)};
}

void Sharing::forget_unused() {
  std::erase_if(peer_watchers_, [](const auto &entry) { return entry.second->is_idle(); });
  std::erase_if(opened_,
                [](const auto &entry) { return is_unused(entry.second) && entry.second->is_creator_dead(); });
  auto unused = static_cast<std::size_t>(
      std::ranges::count_if(opened_, [](const auto &entry) { return is_unused(entry.second); }));
  std::erase_if(opened_, [&](const auto &entry) {
    const bool is_forgotten = unused > kUnusedKept && is_unused(entry.second);
    if (is_forgotten) --unused;
    return is_forgotten;
  });
}

Work Sharing::await(const std::shared_ptr<SharedEvent> &event, SharedEvent::Record record) {
  std::erase_if(peer_watchers_, [](const auto &entry) { return entry.second->is_idle(); });
  auto &peer_watcher = peer_watchers_[event->table().get()];
  if (peer_watcher == nullptr) peer_watcher = std::make_unique<PeerWatcher>(engine_, mutex_, event->table());
  const auto awaited = std::make_shared<AwaitedRecord>(AwaitedRecord{event, record});
  peer_watcher->add(awaited);
  return engine_.add({.name = "another process", .condition = std::make_unique<RecordCondition>(awaited)});
}

}  // namespace cushim::sim
