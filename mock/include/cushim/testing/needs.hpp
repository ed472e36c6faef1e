// SPDX-License-Identifier: Apache-2.0
// Requirements of a test on the machine. A test whose requirements are not met is skipped with a
// machine-readable reason ("cushim-skip: needs gpus:2"). If CUSHIM_TEST_HAS ("gpus:2,mem_ops,ipc") declares
// that the machine meets them, the skip is a failure instead.
#pragma once

#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cushim::testing {

// A capability that a test needs, and the count.
struct Need {
  std::string_view name;
  int count = 1;
};

namespace needs {
// At least `count` devices.
constexpr Need gpus(int count) { return {"gpus", count}; }
// 64-bit stream memory operations, and NOR waits (device 0).
inline constexpr Need mem_ops{"mem_ops"};
// Events and memory that other processes can open (device 0).
inline constexpr Need ipc{"ipc"};
// Two devices with peer access to each other.
inline constexpr Need peer{"peer"};
// Managed memory (device 0), and managed memory that host and device may use concurrently.
inline constexpr Need managed{"managed"};
inline constexpr Need concurrent_managed{"concurrent_managed"};
// Stream-ordered allocation (device 0).
inline constexpr Need pools{"pools"};
// Registration of host memory (device 0).
inline constexpr Need host_register{"host_register"};
}  // namespace needs

namespace detail {
// The requirements of the function of this name; __PRETTY_FUNCTION__ of a lambda inside it is accepted.
struct Needs {
  const char *function;
  std::vector<Need> all;
};

// Stores them for --list-tests, which lists requirements without running the tests.
bool declare(const Needs &needs);
template <class GetNeeds>
struct Declared {
  static inline const bool before_main = declare(GetNeeds{}());
};

struct Unmet {
  std::string reason;  // empty if every requirement is met
  bool declared = false;
};
// Returns which requirements are not met. Calls cuInit and reads device attributes.
Unmet unmet(const Needs &needs);

template <class GetNeeds>
Unmet unmet_of(GetNeeds get_needs) {
  static_cast<void>(Declared<GetNeeds>::before_main);
  return unmet(get_needs());
}
}  // namespace detail

// Returns the capabilities of the machine that CUSHIM_TEST_HAS does not declare; empty if the variable is
// not set.
std::string undeclared();

}  // namespace cushim::testing

// As the first line of a test or of a fixture's SetUp(): skips the test if a requirement is not met. The
// requirements must be constants: they are read before any test runs, so that cushim_discover_tests() can
// give a test that needs two GPUs the label multi-gpu and two devices.
#define CUSHIM_NEEDS(...)                                                          \
  do {                                                                             \
    const auto cushim_unmet = ::cushim::testing::detail::unmet_of([] {             \
      using namespace ::cushim::testing::needs; /* NOLINT */                       \
      return ::cushim::testing::detail::Needs{__PRETTY_FUNCTION__, {__VA_ARGS__}}; \
    });                                                                            \
    if (cushim_unmet.declared) FAIL() << cushim_unmet.reason;                      \
    if (!cushim_unmet.reason.empty()) GTEST_SKIP() << cushim_unmet.reason;         \
  } while (false)
