// SPDX-License-Identifier: Apache-2.0
// Looks out for the end of what other processes recorded in events, all of one table. It sleeps until
// somebody completes something; now and then it looks whether those that it waits for are still alive. Its
// thread ends when nothing is awaited any more.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine.hpp"
#include "shared_event.hpp"

namespace cushim::sim {

// A record of an event that another process made.
struct Awaited {
  std::shared_ptr<SharedEvent> event;
  SharedEvent::Record record;
  bool is_lost = false;  // its process has ended

  bool is_over() const noexcept { return is_lost || event->is_complete(record.number); }
};

// All functions want the machine's lock, but the destructor, which wants it not to be held while is_idle()
// is false.
class Lookout {
 public:
  Lookout(Engine &engine, mock::Mutex &mutex, std::shared_ptr<ShareTable> table);
  ~Lookout();
  Lookout(const Lookout &) = delete;
  Lookout &operator=(const Lookout &) = delete;

  void add(std::shared_ptr<Awaited> awaited);
  bool is_idle() const noexcept { return !is_running_; }

 private:
  void run(const std::stop_token &stop);
  void find_lost();

  Engine &engine_;
  mock::Mutex &mutex_;
  const std::shared_ptr<ShareTable> table_;
  std::vector<std::shared_ptr<Awaited>> awaited_;
  bool is_running_ = false;
  std::jthread thread_;
};

}  // namespace cushim::sim
