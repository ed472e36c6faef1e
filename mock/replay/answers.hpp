// SPDX-License-Identifier: Apache-2.0
// Matches the calls of a program with those of a recording, and answers them.
#pragma once

#include <cushim/replay/driver.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "host_functions.hpp"
#include "objects.hpp"

namespace cushim::replay {

// A call of the program.
struct GivenCall {
  int slot = 0;
  std::span<const std::uint64_t> words{};  // the arguments, each in whole words
  std::function<std::string()> text{};     // for messages
};

// Thread-safe.
class Answers {
 public:
  Answers(Recording recording, DriverOptions options);

  // Answers a call: writes what the recorded call wrote, and returns its result. Reports a deviation.
  CUresult answer(const GivenCall &call);

  // Waits for the host functions.
  void finish() { host_functions_.wait(); }

  int version() const noexcept { return version_; }
  std::size_t calls_left() const;
  std::optional<Deviation> deviation() const;

 private:
  // The calls of a recorded thread, by index.
  struct Thread {
    std::vector<std::size_t> calls{};
    std::size_t next = 0;
    bool is_matched = false;
  };
  Thread *thread_of(const GivenCall &call);
  std::optional<Deviation> match(const GivenCall &call, const Thread &thread);
  Deviation end_of_recording() const;
  std::optional<Deviation> give(const RecordedCall &recorded, const GivenCall &call);
  bool give_buffer(const Buffer &buffer, const RecordedCall &recorded, std::uint64_t to);
  bool give_attribute_values(const Buffer &buffer, const RecordedCall &recorded, const GivenCall &call);
  static void give_options(const RecordedCall &recorded, const GivenCall &call);
  bool give_rows(const Buffer &buffer, const RecordedCall &recorded, const GivenCall &call);
  void give_handles_made(const Buffer &buffer, const RecordedCall &recorded, char *structure);
  void translate(const trace::Type &type, char *value, std::string_view name, std::uint64_t time);
  void update_memory(const RecordedCall &recorded, const GivenCall &call);
  void run_host_function(const RecordedCall &recorded, const GivenCall &call);
  CUresult report(Deviation deviation, const GivenCall &call, std::unique_lock<std::mutex> &lock);
  bool is_ignored(int slot) const;

  const Recording recording_;
  const DriverOptions options_;
  int version_ = CUDA_VERSION;
  // The bytes that asynchronous copies to the host wrote, by RecordedCall::begin of the copy.
  std::map<std::uint64_t, const Item *> copied_;

  mutable std::mutex mutex_;  // guards the members below
  Objects objects_;
  std::map<unsigned, Thread> threads_;         // by their recorded number
  std::map<std::uint64_t, Thread *> matched_;  // of the program's threads
  std::set<std::uint64_t> capturing_;          // streams
  std::set<std::string> texts_;                // that calls returned
  std::list<std::string> arrays_;              // of handles that calls returned
  std::size_t left_ = 0;
  std::optional<Deviation> deviation_;
  HostFunctions host_functions_;  // last member: its thread may make calls
};

}  // namespace cushim::replay
