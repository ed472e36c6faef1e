// SPDX-License-Identifier: Apache-2.0
#include "played_functions.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "write_host_memory.hpp"

namespace cushim::replay {
namespace {

// The functions of all replays. The drivers have their numbers, because a function may run after its replay.
struct Added {
  struct Function {
    PlayedFunctions::Writes writes;
    std::function<void()> wait;
  };
  std::mutex mutex{};  // guards the members below
  std::uint64_t last = 0;
  std::map<std::uint64_t, Function> functions{};
};

Added &all() {
  static auto &added = *new Added;
  return added;
}

}  // namespace

PlayedFunctions::~PlayedFunctions() {
  const std::lock_guard lock(all().mutex);
  for (const std::uint64_t number : added_) all().functions.erase(number);
}

std::uint64_t PlayedFunctions::add(Writes writes, std::function<void()> wait) {
  const std::lock_guard lock(all().mutex);
  added_.push_back(++all().last);
  all().functions.emplace(added_.back(), Added::Function{std::move(writes), std::move(wait)});
  return added_.back();
}

void PlayedFunctions::run(void *data) {
  Added &added = all();
  std::unique_lock lock(added.mutex);
  auto found = added.functions.find(reinterpret_cast<std::uint64_t>(data));
  if (found == added.functions.end()) return;
  const auto wait = std::move(found->second.wait);
  lock.unlock();
  wait();
  lock.lock();
  // The replay may have ended.
  found = added.functions.find(reinterpret_cast<std::uint64_t>(data));
  if (found == added.functions.end()) return;
  for (const auto &[to, bytes] : found->second.writes) write_host_memory(bytes, to);
  added.functions.erase(found);
}

void CUDA_CB PlayedFunctions::run_in_stream(CUstream, CUresult, void *data) { run(data); }

}  // namespace cushim::replay
