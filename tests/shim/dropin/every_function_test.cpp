// SPDX-License-Identifier: Apache-2.0
// Calls every function of the drop-in library under its exported name.
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <cstring>

#include "driver_of_numbers.hpp"

// Declared without parameters, to include entry points whose types these headers lack.
extern "C" {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  int linked_##symbol() __asm__(#symbol);
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
// clang-format on
}

namespace {

constexpr int (*kFunctions[])() = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &linked_##symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    // clang-format on
};

bool is_lookup(int slot) { return std::strcmp(cushim_entry(slot)->base, "cuGetProcAddress") == 0; }

TEST(DropIn, Every_function_goes_to_its_own_entry_of_the_current_driver) {
  const cushim::ScopedDriver scope(driver_of_numbers());
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    if (is_lookup(slot)) continue;  // takes arguments; see lookup_test.cpp
    EXPECT_EQ(kFunctions[slot](), slot) << cushim_entry(slot)->symbol;
  }
}

TEST(DropIn, Every_function_may_be_the_target_of_an_indirect_call_under_branch_tracking) {
#if defined(__x86_64__)
  const char *const landing_pad = "\xf3\x0f\x1e\xfa";  // endbr64
#else
  const char *const landing_pad = "\x5f\x24\x03\xd5";  // bti c
#endif
  for (int slot = 0; slot < cushim_entry_count(); ++slot)
    EXPECT_EQ(std::memcmp(reinterpret_cast<const void *>(kFunctions[slot]), landing_pad, 4), 0)
        << cushim_entry(slot)->symbol;
}

}  // namespace
