// SPDX-License-Identifier: Apache-2.0
// Fifty programs that lack one cuStreamWaitEvent, and their corrected versions, on any driver.
#include <cushim/check/hazards.hpp>
#include <cushim/testing.hpp>

#include <set>

#include "programs.hpp"

namespace hazards {
namespace {

using cushim::driver;
using cushim::check::Finding;

constexpr int kPrograms = 50;

class Programs : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(managed, pools);
    ASSERT_EQ(driver().cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    driver().cuCtxSetCurrent(nullptr);
    driver().cuDevicePrimaryCtxRelease(0);
  }
  static std::vector<Finding> found_in(Version version) {
    cushim::check::Hazards checker(driver());
    run(GetParam(), version);
    return checker.finish();
  }
};

INSTANTIATE_TEST_SUITE_P(Hazards, Programs, ::testing::ValuesIn(shapes(kPrograms)),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(Programs, Without_the_wait_are_flagged) {
  const auto findings = found_in(Version::planted);
  ASSERT_FALSE(findings.empty());
  for (const Finding &finding : findings) {
    EXPECT_EQ(finding.calls.size(), 2u) << finding;
    EXPECT_NE(finding.advice.find("record an event on "), std::string::npos) << finding;
  }
}

TEST_P(Programs, With_the_wait_are_not_flagged) {
  for (const Finding &finding : found_in(Version::corrected)) ADD_FAILURE() << finding;
}

TEST(HazardPrograms, Are_all_different) {
  std::set<std::string> names;
  std::set<int> works, orders, streams;
  for (const Shape &shape : shapes(kPrograms)) {
    names.insert(name_of(shape));
    works.insert(shape.work), orders.insert(shape.order), streams.insert(shape.streams);
  }
  EXPECT_EQ(names.size(), std::size_t{kPrograms});
  EXPECT_EQ(works.size(), std::size_t{kWorks});
  EXPECT_EQ(orders.size(), std::size_t{kOrders});
  EXPECT_EQ(streams.size(), std::size_t{kStreamPairs});
}

}  // namespace
}  // namespace hazards
