// SPDX-License-Identifier: Apache-2.0
// Runs every operation of the wrappers through a fault sweep, as a user's code would.
#include <gmock/gmock.h>
#include <cushim/faults/sweep.hpp>

#include <memory>

#include "operations.hpp"

namespace cushim::test {
namespace {

class SweptOperation : public testing::TestWithParam<Operation> {};

TEST_P(SweptOperation, Leaks_nothing_whichever_call_fails) {
  std::size_t calls = 0;
  const auto swept = mock::sweep(
      [] {
        const auto recording = std::make_shared<Recording>();
        return std::shared_ptr<Driver>(recording, &Recording::driver());
      },
      [&] {
        GetParam().run();
        calls = Recording::active().calls().size();
      },
      // An object that is released in a context leaks if that context cannot be made current again.
      {.spares = [](Entry entry) { return entry == Entry::cuCtxPushCurrent_v4000; }});
  EXPECT_TRUE(swept.is_clean()) << swept.text();
  EXPECT_GT(swept.rounds, 1u);
  EXPECT_GE(calls, swept.rounds - 1);
}

INSTANTIATE_TEST_SUITE_P(Operations, SweptOperation, testing::ValuesIn(kOperations),
                         [](const auto &info) { return name_of_test(info.param); });

}  // namespace
}  // namespace cushim::test
