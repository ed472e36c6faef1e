// SPDX-License-Identifier: Apache-2.0
// The shared objects of a machine: its own exports, and the tables of other processes that it has opened.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ipc/peer_watcher.hpp"
#include "ipc/share_table.hpp"

namespace cushim::sim {

class Sharing {
 public:
  Sharing(Engine &engine, mock::Mutex &mutex, ObjectNumbers &numbers) noexcept
      : engine_(engine), mutex_(mutex), numbers_(numbers) {}

  // Returns the table of this machine's exports, created at the first call. Returns null on failure, with the
  // reason in errno.
  std::shared_ptr<ShareTable> own();

  // The result of opening the exporter's table.
  struct Opened {
    enum class Answer { opened, own, ended, refused, limited };
    Answer answer;
    std::shared_ptr<ShareTable> table{};
    std::string reason{};  // if `answer` is refused
    int error = 0;         // errno, if `answer` is limited
  };
  Opened open(const ShareHandle &handle);

  // Returns work that completes when the record completes or its process ends. The work is added to the
  // engine, but not started.
  Work await(const std::shared_ptr<SharedEvent> &event, SharedEvent::Record record);

 private:
  Engine &engine_;
  mock::Mutex &mutex_;
  ObjectNumbers &numbers_;
  std::shared_ptr<ShareTable> own_;
  void forget_unused();

  // By the nonce. Unused tables are kept, so that a process joins a table only once.
  std::map<std::uint64_t, std::shared_ptr<ShareTable>> opened_;
  std::map<const ShareTable *, std::unique_ptr<PeerWatcher>> peer_watchers_;
};

// Reports on stderr which limit of the process (from errno) made a call fail.
void report_limit(const char *call, int error);

}  // namespace cushim::sim
