// SPDX-License-Identifier: Apache-2.0
// The current context: each thread has its own context stack.
#include <cushim/exact.hpp>
#include <thread>

#include "conformance.hpp"

namespace conformance {
namespace {

class ContextStack : public OnDevice {
 public:
  CUcontext current() {
    CUcontext current = nullptr;
    NEED(driver().cuCtxGetCurrent(&current));
    return current;
  }
  CUcontext popped = nullptr;
};

TEST_F(ContextStack, The_place_is_null_if_none_is_current) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  popped = context;
  EXPECT_ANSWER(driver().cuCtxGetCurrent(&popped), CUDA_SUCCESS);
  EXPECT_VALUE(popped == nullptr, true);
}

TEST_F(ContextStack, A_pushed_context_is_current) {
  EXPECT_ANSWER(driver().cuCtxPushCurrent(other_context()), CUDA_SUCCESS);
  EXPECT_VALUE(current() == other_context(), true);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_VALUE(popped == other_context(), true);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, A_context_may_be_pushed_twice) {
  EXPECT_ANSWER(driver().cuCtxPushCurrent(context), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPushCurrent(context), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, A_hundred_contexts_may_be_pushed) {
  for (int i = 0; i < 100; ++i) NEED(driver().cuCtxPushCurrent(i % 2 == 0 ? context : other_context()));
  EXPECT_VALUE(current() == other_context(), true);
  for (int i = 0; i < 100; ++i) NEED(driver().cuCtxPopCurrent(&popped));
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, Needs_no_place_for_the_popped_context) {
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, Nothing_is_popped_if_it_is_empty) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  CUresult there = CUDA_SUCCESS;
  std::thread([&] { there = driver().cuCtxPopCurrent(&popped); }).join();
  EXPECT_ANSWER(there, CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextStack, Setting_null_takes_the_top_away) {
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, Setting_null_on_an_empty_stack_is_no_error) {
  CUresult there = CUDA_ERROR_UNKNOWN;
  std::thread([&] { there = driver().cuCtxSetCurrent(nullptr); }).join();
  EXPECT_ANSWER(there, CUDA_SUCCESS);
}

TEST_F(ContextStack, Setting_another_replaces_the_top) {
  NEED(driver().cuCtxPushCurrent(context));
  EXPECT_ANSWER(driver().cuCtxSetCurrent(other_context()), CUDA_SUCCESS);
  EXPECT_VALUE(current() == other_context(), true);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_VALUE(popped == other_context(), true);
  EXPECT_VALUE(current() == context, true);
}

STATEMENT(ContextStack, Setting_what_is_current_is_no_error, driver().cuCtxSetCurrent(context), CUDA_SUCCESS)
STATEMENT(ContextStack, The_first_ABI_pushes_no_null,
          cushim::exact::cuCtxPushCurrent_v2000(driver())(nullptr), CUDA_ERROR_INVALID_VALUE)

TEST_F(ContextStack, Of_a_new_thread_is_empty) {
  CUcontext there = context;
  std::thread([&] { driver().cuCtxGetCurrent(&there); }).join();
  EXPECT_VALUE(there == nullptr, true);
}

TEST_F(ContextStack, Of_another_thread_is_its_own) {
  CUresult set = CUDA_ERROR_UNKNOWN;
  CUcontext there = nullptr;
  const CUcontext other = other_context();
  std::thread([&] {
    set = driver().cuCtxSetCurrent(other);
    driver().cuCtxGetCurrent(&there);
  }).join();
  EXPECT_ANSWER(set, CUDA_SUCCESS);
  EXPECT_VALUE(there == other, true);
  EXPECT_VALUE(current() == context, true);
}

TEST_F(ContextStack, A_context_may_be_current_in_two_threads) {
  CUresult set = CUDA_ERROR_UNKNOWN, waited = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    set = driver().cuCtxSetCurrent(context);
    waited = driver().cuCtxSynchronize();
  }).join();
  EXPECT_ANSWER(set, CUDA_SUCCESS);
  EXPECT_ANSWER(waited, CUDA_SUCCESS);
}

TEST_F(ContextStack, A_device_needs_no_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
