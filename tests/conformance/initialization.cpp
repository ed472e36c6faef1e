// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <thread>

#include "conformance.hpp"

namespace conformance {
namespace {

// ---- A process that has not initialized the driver ----

class BeforeInitialization : public ::testing::Test {
 public:
  int number = -1;
};

TEST_F(BeforeInitialization, The_version_can_be_asked) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDriverGetVersion(&number), CUDA_SUCCESS);
  EXPECT_VALUE(number >= 11000, true);
}

TEST_F(BeforeInitialization, The_version_needs_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BeforeInitialization, Names_of_errors_can_be_asked) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const char *text = nullptr;
  EXPECT_ANSWER(driver().cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  EXPECT_ANSWER(driver().cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
}

TEST_F(BeforeInitialization, Bad_arguments_do_not_matter_to_most_calls) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDeviceGetCount(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuDeviceGet(nullptr, -1), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuMemAlloc(nullptr, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuEventCreate(nullptr, ~0u), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuStreamCreate(nullptr, ~0u), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BeforeInitialization, Null_handles_do_not_matter_but_for_events) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuStreamQuery(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuMemFree(0), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(BeforeInitialization, A_refused_initialization_initializes_nothing) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_ANSWER(driver().cuInit(0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetCount(&number), CUDA_SUCCESS);
}

TEST_F(BeforeInitialization, Another_thread_may_initialize_for_all) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUresult there = CUDA_ERROR_UNKNOWN;
  std::thread([&] { there = driver().cuInit(0); }).join();
  EXPECT_VALUE(static_cast<int>(there), 0);
  EXPECT_ANSWER(driver().cuDeviceGetCount(&number), CUDA_SUCCESS);
}

TEST_F(BeforeInitialization, Two_threads_may_initialize_at_once) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUresult one = CUDA_ERROR_UNKNOWN, other = CUDA_ERROR_UNKNOWN;
  std::thread first([&] { one = driver().cuInit(0); }), second([&] { other = driver().cuInit(0); });
  first.join();
  second.join();
  EXPECT_VALUE(static_cast<int>(one), 0);
  EXPECT_VALUE(static_cast<int>(other), 0);
}

// ---- CUDA_VISIBLE_DEVICES, with one device or more ----

struct Visible {
  const char *name, *value;
  CUresult initialized;
  int devices;
};
const Visible visible[] = {
    {"Empty_hides_all", "", CUDA_ERROR_NO_DEVICE, 0},
    {"Minus_one_hides_all", "-1", CUDA_ERROR_NO_DEVICE, 0},
    {"Zero_shows_one", "0", CUDA_SUCCESS, 1},
    {"An_ordinal_that_is_too_high_hides_all", "99", CUDA_ERROR_NO_DEVICE, 0},
    {"What_comes_before_a_bad_ordinal_is_shown", "0,99", CUDA_SUCCESS, 1},
    {"What_comes_after_a_bad_ordinal_is_hidden", "99,0", CUDA_ERROR_NO_DEVICE, 0},
    {"What_comes_before_minus_one_is_shown", "0,-1", CUDA_SUCCESS, 1},
    {"What_comes_after_minus_one_is_hidden", "-1,0", CUDA_ERROR_NO_DEVICE, 0},
    {"A_device_named_twice_hides_all", "0,0", CUDA_ERROR_INVALID_DEVICE, 0},
    {"A_word_hides_all", "none", CUDA_ERROR_NO_DEVICE, 0},
    {"An_unknown_UUID_hides_all", "GPU-00000000-0000-0000-0000-000000000000", CUDA_ERROR_NO_DEVICE, 0},
    {"A_blank_before_is_passed_over", " 0", CUDA_SUCCESS, 1},
    {"A_blank_after_is_passed_over", "0 ", CUDA_SUCCESS, 1},
    {"A_comma_after_is_passed_over", "0,", CUDA_SUCCESS, 1},
    {"A_number_with_letters_counts_as_the_number", "0x", CUDA_SUCCESS, 1},
    {"A_leading_plus_is_accepted", "+0", CUDA_SUCCESS, 1},
    {"Leading_zeros_are_accepted", "00", CUDA_SUCCESS, 1},
};

class VisibleDevices : public BeforeInitialization {};

[[maybe_unused]] const bool visible_added = [] {
  for (const Visible &row : visible)
    ADD_TEST(VisibleDevices, row.name, [row](VisibleDevices &t) {
      CUSHIM_IN_A_FRESH_PROCESS();
      setenv("CUDA_VISIBLE_DEVICES", row.value, 1);
      EXPECT_ANSWER(driver().cuInit(0), row.initialized);
      const CUresult counted = driver().cuDeviceGetCount(&t.number);
      if (row.initialized == CUDA_SUCCESS) {
        EXPECT_EQ(answer("cuDeviceGetCount", counted), CUDA_SUCCESS);
        EXPECT_VALUE(t.number, row.devices);
      } else {
        // A failed cuInit leaves the process uninitialized.
        EXPECT_EQ(answer("cuDeviceGetCount", counted), CUDA_ERROR_NOT_INITIALIZED);
      }
    });
  return true;
}();

TEST_F(VisibleDevices, Set_after_initialization_change_nothing) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuInit(0));
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_ANSWER(driver().cuInit(0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetCount(&number), CUDA_SUCCESS);
  EXPECT_VALUE(number > 0, true);
}

TEST_F(VisibleDevices, Are_looked_up_again_after_none_was_found) {
  CUSHIM_IN_A_FRESH_PROCESS();
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  EXPECT_ANSWER(driver().cuInit(0), CUDA_ERROR_NO_DEVICE);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_ANSWER(driver().cuInit(0), CUDA_SUCCESS);
}

// ---- A process that has initialized the driver ----

class Initialization : public Initialized {
 public:
  int number = -1;
};

STATEMENT(Initialization, May_be_repeated, driver().cuInit(0), CUDA_SUCCESS)
STATEMENT(Initialization, Refuses_the_flag_1, driver().cuInit(1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Initialization, Refuses_the_flag_2, driver().cuInit(2), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Initialization, Refuses_the_highest_flag, driver().cuInit(0x80000000u), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Initialization, Refuses_all_flags, driver().cuInit(~0u), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Initialization, The_version_needs_a_place, driver().cuDriverGetVersion(nullptr),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Initialization, The_version_is_a_thousand_times_the_major_and_ten_times_the_minor) {
  EXPECT_ANSWER(driver().cuDriverGetVersion(&number), CUDA_SUCCESS);
  EXPECT_VALUE(number % 10, 0);
  RECORD_VALUE(number);
}

TEST_F(Initialization, Makes_no_context_current) {
  CUcontext current = reinterpret_cast<CUcontext>(0x1234);
  EXPECT_ANSWER(driver().cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_VALUE(current == nullptr, true);
}

}  // namespace
}  // namespace conformance
