// SPDX-License-Identifier: Apache-2.0
#include "hazards/stream_names.hpp"

#include <cushim/detail/reference.hpp>

namespace cushim::check {
StreamIndex StreamNames::open(ContextKey context, Order::Kind kind, std::string text) {
  const StreamIndex stream_index = order_.open(context, kind);
  if (stream_index >= numbers_.size()) numbers_.resize(stream_index + 1);
  numbers_[stream_index] = texts_.size();
  texts_.push_back(std::move(text));
  return stream_index;
}

// The first context is not mentioned: most programs have only one.
std::string StreamNames::of_context(ContextKey context) {
  unsigned long &number = contexts_[context];
  if (number == 0) number = ++count_contexts_;
  return number == 1 ? "" : " of context " + std::to_string(number);
}

void StreamNames::made(CUstream handle, ContextKey context, bool is_blocking) {
  const std::string text = "stream " + std::to_string(++count_made_) + " (" +
                           cushim::detail::hexadecimal(reinterpret_cast<std::uintptr_t>(handle)) + ")" +
                           of_context(context);
  made_[handle] = open(context, is_blocking ? Order::Kind::blocking : Order::Kind::non_blocking, text);
}

void StreamNames::destroyed(CUstream handle) {
  const auto found = made_.find(handle);
  if (found == made_.end()) return;
  order_.close(found->second);
  made_.erase(found);
}

void StreamNames::context_ended(ContextKey context) {
  const auto is_of_it = [&](StreamIndex stream_index) { return order_.context(stream_index) == context; };
  std::erase_if(made_, [&](const auto &stream) { return is_of_it(stream.second); });
  std::erase_if(threads_own_, [&](const auto &stream) { return is_of_it(stream.second); });
  legacy_.erase(context);
  contexts_.erase(context);
  order_.end(context);
}

StreamIndex StreamNames::stream_index(const StreamRef &stream) {
  if (stream.is_legacy()) {
    const auto [found, is_new] = legacy_.try_emplace(stream.current, kNoStream);
    if (is_new)
      found->second =
          open(stream.current, Order::Kind::legacy, "the legacy stream" + of_context(stream.current));
    return found->second;
  }
  if (stream.is_threads_own()) {
    const auto [found, is_new] = threads_own_.try_emplace({stream.current, stream.thread}, kNoStream);
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
