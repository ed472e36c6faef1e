// SPDX-License-Identifier: Apache-2.0
// Calls every entry point on a mock driver and checks that it reaches its own table slot.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <string_view>

#include "../gmock/failing.hpp"
#include "support/every_entry.hpp"

namespace {

using cushim::mock::MockDriver;
using testing::HasSubstr;

template <class... Arguments>
void call_and_check(const CushimEntry<CUresult(Arguments...)> &entry, std::string_view symbol) {
  CUresult result = CUDA_SUCCESS;
  const std::string text = failures_of([&] { result = entry(Arguments{}...); });
  if (symbol.starts_with("cuGetProcAddress")) {  // implemented by the mock itself
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
    return;
  }
  EXPECT_EQ(result, CUDA_ERROR_NOT_SUPPORTED) << symbol;
  EXPECT_THAT(text, HasSubstr("\n    " + std::string(symbol) + "("));
}

TEST(EveryRow, An_unset_call_is_reported_under_its_own_symbol) {
  MockDriver mock;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  if (version <= CUDA_VERSION) call_and_check(mock.driver().symbol, #symbol);
#include <cushim/entry_points.inc>
  // clang-format on
}

TEST(EveryRow, Entry_points_whose_types_the_headers_lack_are_not_served) {
  MockDriver mock;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments)
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  EXPECT_FALSE(mock.driver().supports(static_cast<cushim::Entry>(slot))) << #symbol; \
  EXPECT_EQ(call_slot(mock.driver(), slot), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << #symbol;
#include <cushim/entry_points.inc>
  // clang-format on
}

}  // namespace
