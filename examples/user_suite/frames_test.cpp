// SPDX-License-Identifier: Apache-2.0
// Two streams share a frame; an event marks that the frame is complete.
#include <cushim/cushim.hpp>
#include <cushim/testing.hpp>

namespace {

using namespace cushim;
using cushim::testing::Hold;
using cushim::testing::hold;

class Frames : public ::testing::Test {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(gpus(1));
    primary = PrimaryContext::retain(Device::get(0));
    primary.make_current();
    producer = Stream::create({.flags = StreamFlags::non_blocking});
    consumer = Stream::create({.flags = StreamFlags::non_blocking});
  }
  PrimaryContext primary;
  Stream producer, consumer;
};

TEST_F(Frames, Are_not_consumed_before_they_are_produced) {
  Hold held = hold(producer.handle());
  const Event done = Event::recorded(producer);
  consumer.wait(done);
  EXPECT_FALSE(consumer.is_done());
  held.release();
  consumer.synchronize();
  EXPECT_TRUE(done.is_done());
}

TEST_F(Frames, Are_given_to_another_gpu) {
  CUSHIM_NEEDS(gpus(2), peer);
  EXPECT_TRUE(Device::get(0).can_access(Device::get(1)));
}

}  // namespace
