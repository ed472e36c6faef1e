// SPDX-License-Identifier: Apache-2.0
// What a test needs of the machine. A test whose needs are not met is skipped, with a reason that
// programs can read ("cushim-skip: needs gpus:2"); unless the machine's owner declared in
// CUSHIM_TEST_HAS ("gpus:2,mem_ops,ipc") that it has them: then the skip is a failure.
#pragma once

#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cushim::testing {

struct Need {
  std::string_view name;
  int count = 1;
};

namespace needs {
// At least so many devices.
constexpr Need gpus(int count) { return {"gpus", count}; }
// 64-bit stream memory operations, and waits for NOR (device 0).
inline constexpr Need mem_ops{"mem_ops"};
// Events and memory that other processes can open (device 0).
inline constexpr Need ipc{"ipc"};
// Two devices that reach each other's memory.
inline constexpr Need peer{"peer"};
// Managed memory (device 0), and managed memory that host and device may use at the same time.
inline constexpr Need managed{"managed"};
inline constexpr Need concurrent_managed{"concurrent_managed"};
// Stream-ordered allocation (device 0).
inline constexpr Need pools{"pools"};
// Registering of host memory (device 0).
inline constexpr Need host_register{"host_register"};
}  // namespace needs

namespace detail {
// What the function of this name needs; __PRETTY_FUNCTION__ of a lambda in it will do.
struct Needs {
  const char *function;
  std::vector<Need> all;
};

// Keeps them for --list-tests, which tells what a test needs without running it.
bool declare(const Needs &needs);
template <class GiveNeeds>
struct Declared {
  static inline const bool before_main = declare(GiveNeeds{}());
};

struct Unmet {
  std::string reason;  // empty if every need is met
  bool declared = false;
};
// Initializes the driver (cuInit) and asks its devices' attributes.
Unmet unmet(const Needs &needs);

template <class GiveNeeds>
Unmet unmet_of(GiveNeeds give_needs) {
  static_cast<void>(Declared<GiveNeeds>::before_main);
  return unmet(give_needs());
}
}  // namespace detail

// Capabilities of the machine that CUSHIM_TEST_HAS does not declare; empty if the variable is not set.
std::string undeclared();

}  // namespace cushim::testing

// The first line of a test, or of a fixture's SetUp(). The needs are constants: they are known before any
// test runs, so that cushim_discover_tests() can give a test that needs two GPUs the label multi-gpu and two
// devices.
#define CUSHIM_NEEDS(...)                                                          \
  do {                                                                             \
    const auto cushim_unmet = ::cushim::testing::detail::unmet_of([] {             \
      using namespace ::cushim::testing::needs; /* NOLINT */                       \
      return ::cushim::testing::detail::Needs{__PRETTY_FUNCTION__, {__VA_ARGS__}}; \
    });                                                                            \
    if (cushim_unmet.declared) FAIL() << cushim_unmet.reason;                      \
    if (!cushim_unmet.reason.empty()) GTEST_SKIP() << cushim_unmet.reason;         \
  } while (false)
