// SPDX-License-Identifier: Apache-2.0
#include "stream_names.hpp"

#include <cstdio>

namespace cushim::check {

std::string hex(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

Lane StreamNames::open(ContextKey context, Order::Kind kind, std::string words) {
  const Lane lane = order_.open(context, kind);
  if (lane >= numbers_.size()) numbers_.resize(lane + 1);
  numbers_[lane] = words_.size();
  words_.push_back(std::move(words));
  return lane;
}

// Nothing is said of the first context: most programs have one.
std::string StreamNames::of_context(ContextKey context) {
  unsigned long &number = contexts_[context];
  if (number == 0) number = ++count_contexts_;
  return number == 1 ? "" : " of context " + std::to_string(number);
}

void StreamNames::made(CUstream handle, ContextKey context, bool is_blocking) {
  const std::string words = "stream " + std::to_string(++count_made_) + " (" +
                            hex(reinterpret_cast<std::uintptr_t>(handle)) + ")" + of_context(context);
  made_[handle] = open(context, is_blocking ? Order::Kind::blocking : Order::Kind::non_blocking, words);
}

void StreamNames::destroyed(CUstream handle) {
  const auto found = made_.find(handle);
  if (found == made_.end()) return;
  order_.close(found->second);
  made_.erase(found);
}

void StreamNames::context_ended(ContextKey context) {
  const auto is_of_it = [&](Lane lane) { return order_.context(lane) == context; };
  std::erase_if(made_, [&](const auto &stream) { return is_of_it(stream.second); });
  std::erase_if(threads_own_, [&](const auto &stream) { return is_of_it(stream.second); });
  legacy_.erase(context);
  contexts_.erase(context);
  order_.end(context);
}

Lane StreamNames::lane(const StreamRef &stream) {
  if (stream.is_legacy()) {
    const auto [found, is_new] = legacy_.try_emplace(stream.current, kNoLane);
    if (is_new)
      found->second =
          open(stream.current, Order::Kind::legacy, "the legacy stream" + of_context(stream.current));
    return found->second;
  }
  if (stream.is_threads_own()) {
    const auto [found, is_new] = threads_own_.try_emplace({stream.current, stream.thread}, kNoLane);
    if (is_new)
      found->second = open(
          stream.current, Order::Kind::blocking,
          "the per-thread stream of thread " + std::to_string(stream.thread) + of_context(stream.current));
    return found->second;
  }
  if (!knows(stream.handle)) made(stream.handle, stream.current, true);
  return made_.find(stream.handle)->second;
}

}  // namespace cushim::check
