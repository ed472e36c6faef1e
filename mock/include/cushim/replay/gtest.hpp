// SPDX-License-Identifier: Apache-2.0
// Makes deviations from a recording fail the running GoogleTest test, in programs that include this file.
#pragma once

#include <gtest/gtest.h>

#include <cushim/replay/driver.hpp>

namespace cushim::replay {

// Fails the running test with the text of the deviation.
inline void fail_test(const Deviation &deviation) { ADD_FAILURE() << deviation.text(); }

namespace detail {
inline const bool deviations_fail_tests = [] {
  Driver::on_deviation_by_default(&fail_test);
  return true;
}();
}  // namespace detail

}  // namespace cushim::replay
