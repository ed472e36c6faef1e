// SPDX-License-Identifier: Apache-2.0
// The per-thread streams of threads that have ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "objects/context.hpp"

namespace cushim::sim {
namespace {

TEST(StreamsOfEndedThreads, Are_few_however_many_threads_there_were) {
  Context context;
  const auto life = std::make_shared<char>();
  const auto add = [&context](unsigned long thread, std::weak_ptr<const void> its_life) {
    context.sweep_per_thread();
    auto stream = std::make_unique<Stream>();
    stream->thread = std::move(its_life);
    context.per_thread.emplace(thread, std::move(stream));
  };
  add(0, life);
  std::size_t most = 0;
  for (unsigned long thread = 1; thread <= 1000; ++thread) {
    add(thread, {});
    most = std::max(most, context.per_thread.size());
  }
  EXPECT_LE(most, 4u);
  EXPECT_TRUE(context.per_thread.contains(0)) << "its thread lives";
}

}  // namespace
}  // namespace cushim::sim
