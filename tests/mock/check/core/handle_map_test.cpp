// SPDX-License-Identifier: Apache-2.0
#include "core/handle_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>

namespace cushim::check {
namespace {

TEST(HandleMap, Equals_a_map_of_the_standard_library_after_each_of_many_changes) {
  std::mt19937_64 random(1);
  HandleMap<std::uint64_t> handles;
  std::map<std::uint64_t, std::uint64_t> expected;
  // Returns a handle of a simulated or of a real driver. There are few handles, so each is set and erased
  // often.
  const auto any = [&] {
    const std::uint64_t number = random() % 300 + 1;
    return random() % 2 == 0 ? number << 26 | 2ull << 44 : 0x7f10'0000'0000 + (number << 9);
  };
  for (int change = 0; change < 20'000; ++change) {
    const std::uint64_t handle = any();
    // The map grows at first, then shrinks.
    if (random() % 20'000 < static_cast<std::uint64_t>(change)) {
      handles.erase(handle);
      expected.erase(handle);
    } else {
      const std::uint64_t value = random();
      handles[handle] = value;
      expected[handle] = value;
    }
    ASSERT_EQ(handles.size(), expected.size());
    const std::uint64_t other = any();
    const std::uint64_t *const found = handles.find(other);
    ASSERT_EQ(found != nullptr, expected.contains(other));
    if (found == nullptr) continue;
    ASSERT_EQ(*found, expected[other]);
  }
  std::size_t visited = 0;
  std::map<std::uint64_t, int> values;
  for (const auto &[handle, value] : expected) ++values[value];
  handles.for_each([&](std::uint64_t value) {
    ++visited;
    EXPECT_GT(values[value]--, 0) << value;
  });
  EXPECT_EQ(visited, expected.size());
}

TEST(HandleMap, Destroys_a_value_that_is_erased_or_replaced) {
  HandleMap<std::shared_ptr<int>> handles;
  const auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
  handles[16] = first;
  handles[16] = second;
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(*handles.find(16), second);
  handles.erase(16);
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_EQ(handles.find(16), nullptr);
}

TEST(HandleMap, Finds_nothing_for_0_and_ignores_erasing_an_absent_handle) {
  HandleMap<int> handles;
  EXPECT_EQ(handles.find(0), nullptr);
  handles.erase(0);
  handles.erase(48);
  EXPECT_EQ(handles.size(), 0u);
  for (std::uint64_t handle = 1; handle <= 1000; ++handle) handles[handle] = 7;
  EXPECT_EQ(handles.find(0), nullptr);
  EXPECT_EQ(handles.size(), 1000u);
}

}  // namespace
}  // namespace cushim::check
