// SPDX-License-Identifier: Apache-2.0
// Waits for records of shared events that other processes of one table made. The thread sleeps until a
// process completes a record, and checks every 100 ms of real time whether the recording processes still
// exist. It ends when no record has been awaited for 100 ms.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "ipc/shared_event.hpp"

namespace cushim::sim {

// A record of a shared event by another process.
struct AwaitedRecord {
  std::shared_ptr<SharedEvent> event;
  SharedEvent::Record record;
  bool is_lost = false;  // the recording process has ended

  bool is_over() const noexcept { return is_lost || event->is_complete(record.number); }
};

// All member functions require the machine's lock, except the destructor: the caller must not hold the lock
// during destruction while is_idle() returns false.
class PeerWatcher {
 public:
  PeerWatcher(Engine &engine, mock::Mutex &mutex, std::shared_ptr<ShareTable> table);
  ~PeerWatcher();
  PeerWatcher(const PeerWatcher &) = delete;
  PeerWatcher &operator=(const PeerWatcher &) = delete;

  // Starts the thread if it does not run. Throws std::system_error if no thread can be created.
  void add(std::shared_ptr<AwaitedRecord> awaited);
  bool is_idle() const noexcept { return !is_running_; }

 private:
  void run(const std::stop_token &stop);
  void find_lost();

  Engine &engine_;
  mock::Mutex &mutex_;
  const std::shared_ptr<ShareTable> table_;
  std::vector<std::shared_ptr<AwaitedRecord>> awaited_;
  bool is_running_ = false;
  std::jthread thread_;
};

}  // namespace cushim::sim
