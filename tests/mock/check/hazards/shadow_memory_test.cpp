// SPDX-License-Identifier: Apache-2.0
// The bytes that two calls share, and their last users.
#include "hazards/shadow_memory.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace cushim::check {
namespace {

Extent box(std::uint64_t begin, std::uint64_t width, std::uint64_t rows, std::uint64_t pitch,
           std::uint64_t layers = 1, std::uint64_t layer_pitch = 0) {
  return {begin, width, rows, pitch, layers, layer_pitch};
}

std::set<std::uint64_t> bytes(const Extent &extent) {
  std::set<std::uint64_t> all;
  for (std::uint64_t layer = 0; layer < extent.layers; ++layer)
    for (std::uint64_t row = 0; row < extent.rows; ++row)
      for (std::uint64_t x = 0; x < extent.width; ++x)
        all.insert(extent.begin + layer * extent.layer_pitch + row * extent.pitch + x);
  return all;
}

TEST(Extents, Share_bytes_if_and_only_if_a_byte_is_in_both) {
  std::mt19937 random(1);
  const auto any = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    Extent extents[2];
    for (Extent &each : extents) {
      each = box(any(0, 60), any(1, 6), any(1, 4), any(6, 12), any(1, 3));
      each.layer_pitch = each.pitch * any(each.rows, 5);
    }
    const auto one = bytes(extents[0]), other = bytes(extents[1]);
    std::set<std::uint64_t> both;
    for (const std::uint64_t byte : one)
      if (other.contains(byte)) both.insert(byte);
    const auto found = overlap(extents[0], extents[1]);
    ASSERT_EQ(found.has_value(), !both.empty()) << round;
    if (!found) continue;
    ++shared;
    for (std::uint64_t byte = found->begin; byte < found->end; ++byte)
      EXPECT_TRUE(both.contains(byte)) << round;
    EXPECT_EQ(bytes(extents[0].simplified()), one);
  }
  EXPECT_GT(shared, 300);
}

TEST(Extents, Without_gaps_are_a_range) {
  EXPECT_TRUE(box(0, 16, 4, 16, 3, 64).simplified().is_flat());
  EXPECT_TRUE(box(0, 16, 1, 99, 1, 7).simplified().is_flat());
  EXPECT_FALSE(box(0, 16, 4, 17).simplified().is_flat());
  EXPECT_FALSE(box(0, 16, 1, 16, 2, 64).simplified().is_flat());
}

class TouchedBytes : public ::testing::Test {
 protected:
  Access access(StreamIndex stream_index, Access::Kind kind) {
    Access made;
    made.epoch = order.submit(stream_index);
    made.kind = kind;
    return made;
  }
  std::size_t read(StreamIndex stream_index, const Extent &extent) {
    return touch(stream_index, extent, Access::Kind::read);
  }
  std::size_t write(StreamIndex stream_index, const Extent &extent) {
    return touch(stream_index, extent, Access::Kind::write);
  }
  std::size_t touch(StreamIndex stream_index, const Extent &extent, Access::Kind kind) {
    conflicts.clear();
    touched.touch(extent, access(stream_index, kind), conflicts);
    return conflicts.size();
  }
  void after(StreamIndex stream_index, StreamIndex earlier) {
    order.wait(stream_index, VectorClock(order.work_of(earlier)));
  }

  Order order;
  ShadowMemory touched{order};
  const StreamIndex a = order.open(nullptr, Order::Kind::non_blocking),
                    b = order.open(nullptr, Order::Kind::non_blocking),
                    c = order.open(nullptr, Order::Kind::non_blocking);
  std::vector<Conflict> conflicts;
};

TEST_F(TouchedBytes, Reads_do_not_conflict_and_changes_do) {
  EXPECT_EQ(read(a, Extent::of(0, 10)), 0u);
  EXPECT_EQ(read(b, Extent::of(0, 10)), 0u);
  EXPECT_EQ(write(c, Extent::of(0, 10)), 1u) << "one is named";
  EXPECT_EQ(read(a, Extent::of(5, 1)), 1u);
  EXPECT_EQ(write(c, Extent::of(0, 10)), 1u);
  EXPECT_EQ(conflicts[0].first.epoch.stream_index, a);
}

TEST_F(TouchedBytes, Ranges_are_told_to_the_byte) {
  EXPECT_EQ(write(a, Extent::of(100, 100)), 0u);
  EXPECT_EQ(write(b, Extent::of(0, 100)), 0u);
  EXPECT_EQ(write(b, Extent::of(200, 100)), 0u);
  EXPECT_EQ(read(b, Extent::of(150, 10)), 1u);
  EXPECT_EQ(conflicts[0].bytes.begin, 150u);
  EXPECT_EQ(conflicts[0].bytes.end, 160u);
}

TEST_F(TouchedBytes, One_conflict_is_told_once_however_the_bytes_were_cut) {
  write(a, Extent::of(0, 100));
  after(b, a);
  read(b, Extent::of(10, 10));
  read(b, Extent::of(40, 10));
  EXPECT_EQ(write(c, Extent::of(30, 5)), 1u);
  EXPECT_EQ(read(c, Extent::of(0, 100)), 1u);
}

TEST_F(TouchedBytes, Rows_conflict_where_they_meet) {
  EXPECT_EQ(write(a, box(0, 10, 5, 100)), 0u);
  EXPECT_EQ(write(b, box(50, 10, 5, 100)), 0u) << "side by side";
  EXPECT_EQ(write(c, Extent::of(210, 40)), 0u) << "between";
  EXPECT_EQ(read(c, Extent::of(205, 45)), 1u);
  EXPECT_EQ(conflicts[0].bytes.begin, 205u);
  EXPECT_EQ(conflicts[0].bytes.end, 210u);
  EXPECT_EQ(write(b, box(300, 5, 1, 0)), 1u);
}

TEST_F(TouchedBytes, What_the_host_knows_to_be_done_is_forgotten) {
  for (std::uint64_t i = 0; i < 5000; ++i) {
    write(a, Extent::of(64 * i, 32));
    write(a, box(1'000'000 + 100 * i, 10, 2, 20));
    if (i % 100 == 0) order.host_learns(VectorClock(order.work_of(a)));
  }
  EXPECT_LT(touched.size(), 2500u);
}

TEST_F(TouchedBytes, Freed_memory_stays_freed_until_it_is_other_memory) {
  touch(a, Extent::of(0, 100), Access::Kind::free);
  order.host_learns(VectorClock(order.work_of(a)));
  EXPECT_EQ(read(a, Extent::of(50, 1)), 1u);
  touched.forget({0, 100});
  EXPECT_EQ(read(a, Extent::of(50, 1)), 0u);
}

// Compares with a model that tracks each byte.
TEST_F(TouchedBytes, Conflict_as_their_bytes_do_one_by_one) {
  std::mt19937 random(7);
  struct Byte {
    Epoch write;
    std::vector<Epoch> reads;
  };
  std::vector<Byte> model(64);
  int found = 0;
  for (int round = 0; round < 4000; ++round) {
    const StreamIndex stream_indexes[] = {a, b, c};
    const StreamIndex stream_index = stream_indexes[random() % 3];
    if (random() % 3 == 0) after(stream_index, stream_indexes[random() % 3]);
    if (random() % 40 == 0) order.host_learns(VectorClock(order.work_of(stream_index)));
    const bool is_write = random() % 3 == 0;
    Extent extent = Extent::of(random() % 40, 1 + random() % 20);
    if (random() % 3 == 0) extent = box(random() % 20, 1 + random() % 5, 1 + random() % 4, 5 + random() % 6);
    const bool conflicts =
        touch(stream_index, extent, is_write ? Access::Kind::write : Access::Kind::read) != 0;
    bool expected = false;
    const Epoch now{stream_index, order.clock(stream_index).of(stream_index)};
    for (const std::uint64_t at : bytes(extent)) {
      Byte &byte = model[at];
      expected |= byte.write.sequence != 0 && !order.is_before(byte.write, stream_index);
      if (is_write) {
        for (const Epoch read : byte.reads) expected |= !order.is_before(read, stream_index);
        byte = {now, {}};
      } else {
        byte.reads.push_back(now);
      }
    }
    // Overwritten rows are still remembered: they may repeat an earlier finding, but add no other.
    if (expected) {
      EXPECT_TRUE(conflicts) << round;
    }
    found += expected;
  }
  EXPECT_GT(found, 200);
}

}  // namespace
}  // namespace cushim::check
