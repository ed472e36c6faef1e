// SPDX-License-Identifier: Apache-2.0
// Simulated devices run kernels in C++ in place of the PTX; a GPU runs the PTX. The first test runs unchanged
// on both: --driver=sim or --driver=real. The others run the same code in many orders, always on simulated
// devices: on a fast GPU a forgotten wait can stay unnoticed for a long time.
#include <cushim/sim/gtest.hpp>
#include <cushim/testing.hpp>
#include <cushim/testing/kernel.hpp>

#include "brightener.hpp"

namespace {

using cushim::sim::Launch;
using cushim::sim::Machine;

void expand(const Launch &, float *to, const std::uint8_t *from, unsigned count) {
  std::copy(from, from + count, to);
}
void scale(const Launch &, float *floats, float factor, unsigned count) {
  for (unsigned i = 0; i < count; ++i) floats[i] *= factor;
}

// Returns whether each pixel is multiplied. `waits` is false for the faulty code.
bool is_right(Machine *machine = nullptr, bool waits = true) {
  const std::vector<std::uint8_t> picture(1000, 40);
  cushim::init();
  const auto primary = cushim::PrimaryContext::retain(cushim::Device::get(0));
  const cushim::ScopedContext current(primary);
  Brightener brightener(waits);
  if (machine != nullptr) {
    machine->kernel("expand", expand);
    machine->kernel("brighten", scale);
    machine->name(brightener.working().handle(), "working");
  }
  return brightener.run(picture, 1.5f) == std::vector<float>(1000, 60.0f);
}

TEST(Brightener, Multiplies_each_pixel) {
  CUSHIM_NEEDS(gpus(1));
  cushim::testing::kernel("expand", expand);
  cushim::testing::kernel("brighten", scale);
  EXPECT_TRUE(is_right());
}

TEST(Brightener, Is_right_in_every_order) {
  cushim::sim::explore(20, [](Machine &machine) { EXPECT_TRUE(is_right(&machine)); });
}

TEST(Brightener, Without_its_wait_is_wrong_in_some_order) {
  const auto found = cushim::sim::explore(20, [](Machine &machine) { return is_right(&machine, false); }, {});
  ASSERT_TRUE(found);
  EXPECT_NE(found->order.find("(working): cuLaunchKernel"), std::string::npos) << found->order;
}

}  // namespace
