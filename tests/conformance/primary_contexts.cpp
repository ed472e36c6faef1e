// SPDX-License-Identifier: Apache-2.0
#include <cushim/context.hpp>
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class PrimaryContexts : public OnDevice {
 public:
  int active = -1;
  CUcontext retained = nullptr;
};

STATEMENT(PrimaryContexts, Need_a_place, driver().cuDevicePrimaryCtxRetain(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PrimaryContexts, Need_a_device, driver().cuDevicePrimaryCtxRetain(&retained, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Need_a_device_that_is_not_negative,
          driver().cuDevicePrimaryCtxRetain(&retained, -1), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Need_a_device_before_a_place, driver().cuDevicePrimaryCtxRetain(nullptr, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Of_no_device_are_not_released, driver().cuDevicePrimaryCtxRelease(99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Of_no_device_are_not_reset, driver().cuDevicePrimaryCtxReset(99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Of_no_device_have_no_flags, driver().cuDevicePrimaryCtxSetFlags(99, 0),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Of_no_device_have_no_state,
          driver().cuDevicePrimaryCtxGetState(99, &flags, &active), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PrimaryContexts, Bad_flags_are_found_with_a_device_that_is_not_there,
          driver().cuDevicePrimaryCtxSetFlags(99, ~0u), CUDA_ERROR_INVALID_DEVICE)

TEST_F(PrimaryContexts, Are_the_same_each_time) {
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRetain(&retained, 0), CUDA_SUCCESS);
  EXPECT_VALUE(retained == context, true);
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(PrimaryContexts, Are_active_while_somebody_holds_them) {
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_VALUE(active, 1);
}

TEST_F(PrimaryContexts, Are_not_made_current_by_retaining) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  NEED(driver().cuDevicePrimaryCtxRetain(&retained, 0));
  CUcontext current = context;
  EXPECT_ANSWER(driver().cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_VALUE(current == nullptr, true);
  NEED(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_F(PrimaryContexts, Tell_their_flags_without_a_place_for_the_state) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxGetState(0, &flags, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PrimaryContexts, Tell_their_state_without_a_place_for_the_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxGetState(0, nullptr, &active), CUDA_ERROR_INVALID_VALUE);
}

[[maybe_unused]] const bool flags_added = [] {
  for (int bit = 0; bit < 32; ++bit) {
    const unsigned flag = 1u << bit;
    // 1, 2 and 4 select how threads wait; 8 is invalid for primary contexts; 16 keeps local memory; then core
    // dumps and synchronous memory operations.
    const CUresult code = flag <= 0x80 && flag != CU_CTX_MAP_HOST ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    ADD_TEST(PrimaryContexts, "With_the_flag_" + std::to_string(flag), [=](PrimaryContexts &t) {
      EXPECT_ANSWER(driver().cuDevicePrimaryCtxSetFlags(0, flag), code);
      NEED(driver().cuDevicePrimaryCtxGetState(0, &t.flags, &t.active));
      EXPECT_VALUE(t.flags, code == CUDA_SUCCESS ? flag : 0u);
      NEED(driver().cuDevicePrimaryCtxSetFlags(0, 0));
    });
  }
  for (const unsigned flags : {3u, 5u, 6u, 7u})
    ADD_TEST(PrimaryContexts, "With_two_ways_of_waiting_" + std::to_string(flags), [=](PrimaryContexts &) {
      EXPECT_ANSWER(driver().cuDevicePrimaryCtxSetFlags(0, flags), CUDA_ERROR_INVALID_VALUE);
    });
  return true;
}();

// ---- A process that has not retained a primary context ----

class UnretainedPrimaryContexts : public Initialized {
 public:
  void expect_state(int expected_active, unsigned expected_flags) {
    NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_VALUE(active, expected_active);
    EXPECT_VALUE(flags, expected_flags);
  }
  void expect_end_with_the_second_release() {
    EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_VALUE(active, 1);
    EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_VALUE(active, 0);
  }

  unsigned flags = 1000;
  int active = -1;
  CUcontext one = nullptr, other = nullptr;
};

TEST_F(UnretainedPrimaryContexts, Are_not_active) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_VALUE(active, 0);
  EXPECT_VALUE(flags, 0u);
}

TEST_F(UnretainedPrimaryContexts, Cannot_be_released) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(UnretainedPrimaryContexts, Can_be_reset) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
}

TEST_F(UnretainedPrimaryContexts, Keep_flags_until_they_are_retained) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  expect_state(0, 4u);
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  expect_state(1, 4u);
}

TEST_F(UnretainedPrimaryContexts, Lose_their_flags_with_the_last_release) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxRetain(&other, 0));
  NEED(driver().cuDevicePrimaryCtxRelease(0));
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(flags, 4u);
  NEED(driver().cuDevicePrimaryCtxRelease(0));
  expect_state(0, 0u);
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(flags, 0u);
}

TEST_F(UnretainedPrimaryContexts, Lose_their_flags_with_a_reset) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxReset(0));
  expect_state(0, 0u);
}

TEST_F(UnretainedPrimaryContexts, Lose_their_flags_with_a_reset_before_they_are_retained) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
  NEED(driver().cuDevicePrimaryCtxReset(0));
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(flags, 0u);
}

TEST_F(UnretainedPrimaryContexts, Are_counted) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxRetain(&other, 0));
  EXPECT_VALUE(one == other, true);
  expect_end_with_the_second_release();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(UnretainedPrimaryContexts, Are_not_active_after_a_reset) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(active, 0);
}

TEST_F(UnretainedPrimaryContexts, Are_retained_as_often_after_a_reset_as_before) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxReset(0));
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(UnretainedPrimaryContexts, Of_a_reset_are_active_from_the_next_retain_to_the_last_release) {
  CUSHIM_IN_A_FRESH_PROCESS();
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxReset(0));
  NEED(driver().cuDevicePrimaryCtxRetain(&one, 0));
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(active, 1);
  expect_end_with_the_second_release();
}

// A primary context that ends stays current, and is usable again after another retain.
struct Ending {
  const char *name;
  CUresult (*end)();
};
const Ending endings[] = {
    {"a_release", [] { return driver().cuDevicePrimaryCtxRelease(0); }},
    {"a_reset", [] { return driver().cuDevicePrimaryCtxReset(0); }},
};
[[maybe_unused]] const bool endings_added = [] {
  for (const Ending &row : endings)
    ADD_TEST(UnretainedPrimaryContexts, std::string("Stay_current_after_") + row.name,
             [&row](UnretainedPrimaryContexts &t) {
               CUSHIM_IN_A_FRESH_PROCESS();
               NEED(driver().cuDevicePrimaryCtxRetain(&t.one, 0));
               NEED(driver().cuCtxSetCurrent(t.one));
               NEED(row.end());
               CUevent event = nullptr;
               CUdeviceptr memory = 0;
               EXPECT_ANSWER(driver().cuCtxGetCurrent(&t.other), CUDA_SUCCESS);
               EXPECT_VALUE(t.other == t.one, true);
               EXPECT_ANSWER(driver().cuEventCreate(&event, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
               EXPECT_ANSWER(driver().cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
               EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
               NEED(driver().cuDevicePrimaryCtxRetain(&t.other, 0));
               EXPECT_VALUE(t.other == t.one, true);
               EXPECT_ANSWER(driver().cuEventCreate(&event, 0), CUDA_SUCCESS);
             });
  return true;
}();

TEST_F(UnretainedPrimaryContexts, Are_retained_released_and_judged_by_the_wrapper) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const auto device = cushim::Device::get(0);
  EXPECT_VALUE(cushim::PrimaryContext::state(device).is_active, false);
  {
    const auto held = cushim::PrimaryContext::retain(device);
    EXPECT_VALUE(cushim::PrimaryContext::state(device).is_active, true);
    EXPECT_VALUE(held.handle() != nullptr, true);
  }
  EXPECT_VALUE(cushim::PrimaryContext::state(device).is_active, false);
}

}  // namespace
}  // namespace conformance
