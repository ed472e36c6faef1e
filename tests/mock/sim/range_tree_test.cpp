// SPDX-License-Identifier: Apache-2.0
#include "memory/range_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

namespace cushim::sim {
namespace {

using Tree = RangeTree<int>;

TEST(RangeTree, Finds_the_first_range_of_at_least_a_size) {
  Tree tree;
  for (const std::size_t base : {300u, 100u, 500u, 200u}) tree.insert(base, base / 10);
  EXPECT_EQ(tree.first_of_size(20)->base, 200u);
  EXPECT_EQ(tree.first_of_size(1)->base, 100u);
  EXPECT_EQ(tree.first_of_size(20, 201)->base, 300u);
  EXPECT_EQ(tree.first_of_size(51), nullptr);
}

TEST(RangeTree, Finds_neighbours_of_an_address) {
  Tree tree;
  EXPECT_EQ(tree.last_before(100), nullptr);
  tree.insert(100, 10);
  tree.insert(200, 10);
  EXPECT_EQ(tree.last_before(200)->base, 100u);
  EXPECT_EQ(tree.last_before(100), nullptr);
  EXPECT_EQ(tree.first_from(101)->base, 200u);
  EXPECT_EQ(tree.first_from(201), nullptr);
}

TEST(RangeTree, Cuts_the_begin_the_middle_and_the_end_of_a_range_and_keeps_its_value) {
  Tree tree;
  tree.insert(100, 100, 7);
  tree.cut(100, 10);
  tree.cut(190, 10);
  tree.cut(140, 20);
  const Tree::Range *const first = tree.first_from(0), *const second = tree.first_from(141);
  EXPECT_EQ(first->base, 110u);
  EXPECT_EQ(first->end(), 140u);
  EXPECT_EQ(first->value, 7);
  EXPECT_EQ(second->base, 160u);
  EXPECT_EQ(second->end(), 190u);
  EXPECT_EQ(second->value, 7);
  tree.cut(110, 30);
  tree.cut(160, 30);
  EXPECT_TRUE(tree.empty());
}

TEST(RangeTree, Finds_a_range_by_its_changed_size) {
  Tree tree;
  for (const std::size_t base : {100u, 200u, 300u}) tree.insert(base, 10);
  tree.resize(*tree.first_from(200), 150, 100);
  EXPECT_EQ(tree.first_of_size(100)->base, 150u);
  tree.resize(*tree.first_from(150), 150, 10);
  EXPECT_EQ(tree.first_of_size(11), nullptr);
}

// Takes and gives back ranges at random, and compares with a search through all ranges.
TEST(RangeTree, Finds_what_a_search_through_all_ranges_finds) {
  Tree tree;
  std::map<std::size_t, std::size_t> model{{0, 1 << 20}};
  tree.insert(0, 1 << 20);
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = 1 + random() % 64;
    if (random() % 3 != 0) {
      auto expected = model.begin();
      while (expected != model.end() && expected->second < size) ++expected;
      const Tree::Range *const found = tree.first_of_size(size);
      ASSERT_EQ(found != nullptr, expected != model.end());
      if (found == nullptr) continue;
      const auto [base, length] = *expected;
      ASSERT_EQ(found->base, base);
      const std::size_t at = random() % 2 == 0 ? base : base + length - size;
      tree.cut(at, size);
      model.erase(expected);
      if (at != base) model[base] = at - base;
      if (at + size != base + length) model[at + size] = base + length - at - size;
    } else {
      const std::size_t base = random() % (1 << 20);
      auto at = model.upper_bound(base);
      const std::size_t end = at != model.end() ? at->first : 1 << 20;
      if (at != model.begin() && std::prev(at)->first + std::prev(at)->second > base) continue;
      const std::size_t length = std::min(size, end - base);
      tree.insert(base, length);
      model[base] = length;
    }
  }
}

}  // namespace
}  // namespace cushim::sim
