// SPDX-License-Identifier: Apache-2.0
// The first test runs on the simulated driver and on a GPU: --driver=sim or --driver=real. The others run the
// same code in many orders, always on simulated devices: on a fast GPU a forgotten wait can stay unnoticed
// for a long time.
#include <cushim/sim/gtest.hpp>
#include <cushim/testing.hpp>

#include "brightener.hpp"

namespace {

using cushim::sim::Machine;

const std::vector<std::uint8_t> kPicture = [] {
  std::vector<std::uint8_t> picture(1000);
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i);
  return picture;
}();
const std::vector<float> kBrighter = [] {
  std::vector<float> brighter;
  for (std::uint8_t pixel : kPicture) brighter.push_back(1.5f * pixel);
  return brighter;
}();

std::vector<float> brighten(bool waits = true, Machine *machine = nullptr) {
  cushim::init();
  const auto primary = cushim::PrimaryContext::retain(cushim::Device::get(0));
  const cushim::ScopedContext current(primary);
  Brightener brightener(waits);
  if (machine != nullptr) {
    machine->name(brightener.loading().handle(), "loading");
    machine->name(brightener.working().handle(), "working");
  }
  return brightener.run(kPicture, 1.5f);
}

TEST(Brightener, Multiplies_each_pixel) {
  CUSHIM_NEEDS(gpus(1));
  EXPECT_EQ(brighten(), kBrighter);
}

TEST(Brightener, Is_right_in_every_order) {
  cushim::sim::explore(20, [](Machine &) { EXPECT_EQ(brighten(), kBrighter); });
}

TEST(Brightener, Without_its_wait_is_wrong_in_some_order) {
  const auto found =
      cushim::sim::explore(20, [](Machine &machine) { return brighten(false, &machine) == kBrighter; }, {});
  ASSERT_TRUE(found);
  EXPECT_NE(found->order.find("(working): cuLaunchKernel"), std::string::npos) << found->order;
}

}  // namespace
