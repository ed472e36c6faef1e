// SPDX-License-Identifier: Apache-2.0
// Tests of the happens-before relation.
#include <gtest/gtest.h>

#include "hazards/order.hpp"

namespace cushim::check {
namespace {

using Kind = Order::Kind;
const int contexts[2] = {};
const ContextKey kContext = &contexts[0], kOther = &contexts[1];

// An order with a stream that has work.
struct BusyStream {
  Order order;
  const StreamIndex one = order.open(kContext, Kind::non_blocking);
  const Epoch first = order.submit(one);
};

TEST(Order, Work_in_one_stream_is_in_order) {
  auto [order, one, first] = BusyStream();
  order.submit(one);
  EXPECT_TRUE(order.is_before(first, one));
}

TEST(Order, Work_in_two_streams_has_no_order) {
  Order order;
  const StreamIndex one = order.open(kContext, Kind::blocking), other = order.open(kContext, Kind::blocking);
  const Epoch first = order.submit(one);
  order.submit(other);
  EXPECT_FALSE(order.is_before(first, other));
}

TEST(Order, A_wait_joins_its_clock_and_nothing_later) {
  Order order;
  const StreamIndex one = order.open(kContext, Kind::non_blocking),
                    other = order.open(kContext, Kind::non_blocking),
                    third = order.open(kContext, Kind::non_blocking);
  const Epoch first = order.submit(one);
  order.wait(other, order.work_of(one));
  const VectorClock captured = order.work_of(other);
  const Epoch later = order.submit(other);
  order.wait(third, captured);
  EXPECT_TRUE(order.is_before(first, third));
  EXPECT_FALSE(order.is_before(later, third));
}

TEST(Order, The_legacy_stream_comes_between_the_blocking_streams_of_its_context) {
  Order order;
  const StreamIndex one = order.open(kContext, Kind::blocking), legacy = order.open(kContext, Kind::legacy),
                    other = order.open(kContext, Kind::blocking),
                    apart = order.open(kContext, Kind::non_blocking),
                    far = order.open(kOther, Kind::blocking);
  const Epoch first = order.submit(one), alone = order.submit(apart);
  const Epoch between = order.submit(legacy);
  EXPECT_TRUE(order.is_before(first, legacy));
  EXPECT_FALSE(order.is_before(alone, legacy));
  order.submit(other), order.submit(apart), order.submit(far);
  EXPECT_TRUE(order.is_before(first, other));
  EXPECT_TRUE(order.is_before(between, other));
  EXPECT_FALSE(order.is_before(between, apart));
  EXPECT_FALSE(order.is_before(between, far));
}

TEST(Order, Work_that_the_host_knows_to_be_done_comes_before_later_submissions) {
  Order order;
  const StreamIndex one = order.open(kContext, Kind::non_blocking),
                    other = order.open(kOther, Kind::non_blocking);
  const Epoch first = order.submit(one);
  order.host_learns(VectorClock(order.work_of(one)));
  const Epoch second = order.submit(one);
  order.submit(other);
  EXPECT_TRUE(order.is_before(first, other));
  EXPECT_FALSE(order.is_before(second, other));
}

TEST(Order, A_stream_index_is_reused_when_its_work_is_known_to_be_done) {
  auto [order, one, last] = BusyStream();
  order.close(one);
  EXPECT_NE(order.open(kContext, Kind::non_blocking), one) << "it may still be busy";
  order.host_learns(order.work_of(kContext));
  EXPECT_TRUE(order.is_done(last));
  EXPECT_EQ(order.open(kContext, Kind::non_blocking), one);
  EXPECT_FALSE(order.is_done(order.submit(one)));
}

TEST(Order, A_destroyed_blocking_stream_still_binds_the_legacy_stream) {
  Order order;
  const StreamIndex legacy = order.open(kContext, Kind::legacy), one = order.open(kContext, Kind::blocking);
  const Epoch first = order.submit(one);
  order.close(one);
  order.submit(legacy);
  EXPECT_TRUE(order.is_before(first, legacy));
}

TEST(Order, The_end_of_a_context_is_the_end_of_its_work) {
  auto [order, one, first] = BusyStream();
  order.end(kContext);
  EXPECT_TRUE(order.is_done(first));
}

}  // namespace
}  // namespace cushim::check
