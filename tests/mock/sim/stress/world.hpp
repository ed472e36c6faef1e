// SPDX-License-Identifier: Apache-2.0
// The state that the threads of the stress test share.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/handle_number.hpp"

namespace stress {

using cushim::test::handle_of;
using cushim::test::number_of;

namespace sim = cushim::sim;

inline constexpr std::size_t kRegistered = 4096;

// Handles of one kind that all threads share; 0: no handle.
template <std::size_t count>
class Shared {
 public:
  static constexpr std::size_t size() { return count; }
  std::uint64_t any(std::uint64_t random) const { return all_[random % count].load(); }
  std::uint64_t take(std::uint64_t random) { return all_[random % count].exchange(0); }
  // Stores a handle and returns the one that it replaces.
  std::uint64_t put(std::uint64_t random, std::uint64_t handle) {
    return all_[random % count].exchange(handle);
  }
  template <class Visit>
  void drain(Visit visit) {
    for (auto &one : all_)
      if (const std::uint64_t handle = one.exchange(0); handle != 0) visit(handle);
  }

 private:
  std::array<std::atomic<std::uint64_t>, count> all_{};
};

// Gates of the machine. A separate thread opens them, so that no caller waits for itself.
class Gates {
 public:
  void add(sim::Gate &&gate) {
    const std::lock_guard lock(mutex_);
    gates_.push_back(std::move(gate));
    added_.notify_all();
  }

 private:
  void open_all(const std::stop_token &stop) {
    std::unique_lock lock(mutex_);
    while (added_.wait(lock, stop, [this] { return !gates_.empty(); })) gates_.pop_front();
  }

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<sim::Gate> gates_;
  std::jthread opener_{[this](const std::stop_token &stop) { open_all(stop); }};
};

struct World {
  World(sim::Machine &machine, unsigned long calls) : machine(machine), calls(calls) {}

  sim::Machine &machine;
  const unsigned long calls;  // to be made
  Shared<6> contexts;
  Shared<24> streams;
  Shared<48> events;
  Shared<32> memory;  // device memory, stream-ordered or not, and managed memory
  Shared<12> pinned;
  Shared<12> arrays;
  Shared<6> mipmapped_arrays;
  Shared<12> graphs;
  Shared<64> nodes;
  Shared<12> executables;
  Shared<6> user_objects;
  using Functions = Shared<2>;
  Functions functions;  // of a module that is loaded until the end
  Shared<6> pools;
  Shared<24> pool_memory;
  Shared<12> physical;  // handles of physical memory
  Shared<12> ranges;    // reserved addresses
  std::array<std::array<char, kRegistered>, 8> registered{};
  CUcontext primary = nullptr;  // of device 0; retained until the end
  CUdeviceptr flags = 0;        // words from 0 to 7 that only stream operations write
  Gates gates;
  std::atomic<unsigned long> made{0};
  std::mutex mutex;
  std::vector<CUdeviceptr> graph_memory;  // that graphs have allocated and may not have freed
  std::map<int, unsigned long> answers;   // number of calls by result code
};

}  // namespace stress
