// SPDX-License-Identifier: Apache-2.0
// Every operation of the wrappers goes through a sweep, as a user's own code would.
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
      // What is given back in a context stays if that context cannot be made current again.
      {.spares = [](Entry entry) { return entry == Entry::cuCtxPushCurrent_v4000; }});
  EXPECT_TRUE(swept.is_clean()) << swept.text();
  EXPECT_GT(swept.rounds, 1u);
  EXPECT_GE(calls, swept.rounds - 1);
}

INSTANTIATE_TEST_SUITE_P(Operations, SweptOperation, testing::ValuesIn(kOperations),
                         [](const auto &info) { return name_of_test(info.param); });

}  // namespace
}  // namespace cushim::test
