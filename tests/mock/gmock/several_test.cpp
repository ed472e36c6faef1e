// SPDX-License-Identifier: Apache-2.0
// Several mocks at once: objects keep the driver that created them.
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/mock/mock_driver.hpp>

namespace {

using cushim::ScopedDriver;
using cushim::mock::Gives;
using cushim::mock::MockDriver;

const CUevent kEvent = reinterpret_cast<CUevent>(0x7f10);

TEST(SeveralMocks, An_object_is_destroyed_through_the_mock_that_made_it) {
  MockDriver maker;
  MockDriver current;
  EXPECT_CALL(maker, cuEventCreate).WillOnce(Gives(kEvent));
  EXPECT_CALL(maker, cuEventDestroy(kEvent));
  const ScopedDriver scope(current);
  { const cushim::Event event = cushim::Event::create({}, maker); }
}

TEST(SeveralMocks, The_newest_scope_decides_which_one_is_current) {
  MockDriver outer;
  MockDriver inner;
  EXPECT_CALL(outer, cuInit(1));
  EXPECT_CALL(inner, cuInit(2));
  EXPECT_CALL(outer, cuInit(3));
  const ScopedDriver outer_scope(outer);
  cushim::driver().cuInit(1);
  {
    const ScopedDriver inner_scope(inner);
    cushim::driver().cuInit(2);
  }
  cushim::driver().cuInit(3);
}

}  // namespace
