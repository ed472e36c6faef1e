// SPDX-License-Identifier: Apache-2.0
// Functions that replace a driver's entry points.
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include "child.hpp"
#include "support/every_entry.hpp"
#include "support/fakes.hpp"

namespace {

using cushim::Driver;

CUresult over(CUcontext) { return CUDA_ERROR_NOT_PERMITTED; }
const auto kOver = reinterpret_cast<void (*)()>(&over);
const int kSlot = cushim_find_symbol("cuCtxDestroy_v2");

class Overlay : public testing::Test {
 protected:
  void TearDown() override { cushim_overlay(&driver_, kSlot, nullptr); }
  Driver &driver_ = *Driver::load({.library = fake_path("13000").c_str()});
};

TEST_F(Overlay, An_overlay_is_called_until_it_is_removed) {
  EXPECT_TRUE(cushim_overlay(&driver_, kSlot, kOver));
  EXPECT_EQ(driver_.cuCtxDestroy(nullptr), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_TRUE(cushim_overlay(&driver_, kSlot, nullptr));
  EXPECT_EQ(driver_.cuCtxDestroy(nullptr), CUDA_SUCCESS);
}

TEST_F(Overlay, The_driver_s_own_function_stays_reachable) {
  void (*own)() = cushim_own_function(&driver_, kSlot);
  EXPECT_EQ(cell_of(driver_, kSlot), own);
  cushim_overlay(&driver_, kSlot, kOver);
  EXPECT_EQ(cushim_own_function(&driver_, kSlot), own);
  EXPECT_EQ(cell_of(driver_, kSlot), kOver);
  EXPECT_EQ(driver_.cuCtxDestroy.get(), &over);
}

TEST_F(Overlay, An_overlay_affects_one_entry_of_one_driver) {
  Driver &other = *Driver::load({.library = fake_path("13050").c_str()});
  cushim_overlay(&driver_, kSlot, kOver);
  int covered = 0;
  every_entry(driver_,
              [&](int, const CushimEntryInfo &, int code) { covered += code == CUDA_ERROR_NOT_PERMITTED; });
  EXPECT_EQ(covered, 1);
  EXPECT_EQ(other.cuCtxDestroy(nullptr), CUDA_SUCCESS);
}

TEST_F(Overlay, Loading_again_leaves_it_in_place) {
  cushim_overlay(&driver_, kSlot, kOver);
  ASSERT_EQ(Driver::load({.library = fake_path("13000").c_str()}).driver, &driver_);
  EXPECT_EQ(driver_.cuCtxDestroy(nullptr), CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(Overlay, A_second_overlay_replaces_the_first_and_keeps_the_driver_s_own_function) {
  void (*own)() = cushim_own_function(&driver_, kSlot);
  cushim_overlay(&driver_, kSlot, kOver);
  const auto second = [](CUcontext) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
  cushim_overlay(&driver_, kSlot, reinterpret_cast<void (*)()>(+second));
  EXPECT_EQ(driver_.cuCtxDestroy(nullptr), CUDA_ERROR_NOT_SUPPORTED);
  cushim_overlay(&driver_, kSlot, nullptr);
  EXPECT_EQ(cell_of(driver_, kSlot), own);
}

TEST_F(Overlay, An_overlay_of_a_missing_entry_does_not_make_it_supported) {
  const int slot = cushim_find_symbol("cuMemAllocAsync");
  Driver &driver = *Driver::load({.library = fake_path("incomplete").c_str()});
  cushim_overlay(&driver, slot, kOver);
  EXPECT_EQ(call_slot(driver, slot), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_FALSE(cushim_supports(&driver, slot));
  EXPECT_EQ(cushim_own_function(&driver, slot), nullptr);
  cushim_overlay(&driver, slot, nullptr);
  EXPECT_EQ(call_slot(driver, slot), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
}

TEST_F(Overlay, A_slot_beyond_the_table_has_no_overlay) {
  EXPECT_FALSE(cushim_overlay(&driver_, -1, kOver));
  EXPECT_FALSE(cushim_overlay(&driver_, CUSHIM_TABLE_CAPACITY, kOver));
}

TEST(DefaultOverlay, An_overlay_set_before_the_driver_is_opened_stays_after_opening) {
  EXPECT_EQ(probe({"overlay", "cuCtxSynchronize", "call", "cuCtxSynchronize", "load", "call",
                   "cuCtxSynchronize", "call", "cuCtxGetCurrent"},
                  {{"CUSHIM_LIBRARY", fake_path("12040")}}),
            lines({"77", "cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + fake_path("12040") + ").",
                   "77", "0"}));
}

TEST(DefaultOverlay, An_overlay_without_a_driver_is_called) {
  EXPECT_EQ(probe({"overlay", "cuCtxSynchronize", "call", "cuCtxSynchronize", "call", "cuCtxGetCurrent"},
                  {{"CUSHIM_LIBRARY", "none"}}),
            lines({"77", "303"}));
}

}  // namespace
