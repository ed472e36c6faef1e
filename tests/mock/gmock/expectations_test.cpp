// SPDX-License-Identifier: Apache-2.0
// Expectations with GoogleMock's syntax and semantics.
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/mock/mock_driver.hpp>

#include <thread>
#include <vector>

#include "failing.hpp"

namespace cushim::mock {
namespace {

using testing::_;
using testing::HasSubstr;
using testing::IsEmpty;

const CUevent kEvent = reinterpret_cast<CUevent>(0x7f10);
const CUstream kStream = reinterpret_cast<CUstream>(0x7f20);

TEST(Expectation, A_call_with_the_expected_arguments_is_answered) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventRecord(kEvent, kStream)).WillOnce(Returns(CUDA_ERROR_INVALID_HANDLE));
  EXPECT_EQ(mock.driver().cuEventRecord(kEvent, kStream), CUDA_ERROR_INVALID_HANDLE);
}

TEST(Expectation, Without_an_action_the_call_succeeds) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventRecord(kEvent, _));
  EXPECT_EQ(mock.driver().cuEventRecord(kEvent, nullptr), CUDA_SUCCESS);
}

TEST(Expectation, Messages_have_addresses_of_the_device_in_hexadecimal) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemFree(0x7f0000001000)).Times(0);
  const std::string text =
      failures_of([&] { EXPECT_EQ(mock.driver().cuMemFree(0x7f0000002000), CUDA_ERROR_NOT_SUPPORTED); });
  EXPECT_THAT(text, HasSubstr("Function call: cuMemFree_v2(dptr = 0x7f0000002000)\n"));
  EXPECT_THAT(text, HasSubstr("Expected arg #0: is equal to 0x7f0000001000\n"));
  EXPECT_THAT(text, HasSubstr("Actual: 139637976735744, which is 0x7f0000002000\n"));
}

TEST(Expectation, Messages_leave_other_numbers_and_words_as_they_are) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemAlloc(_, 1024)).Times(0);
  EXPECT_CALL(mock, cuMemFree(testing::AnyOf(0, testing::Gt(4096)))).Times(0);
  const std::string text = failures_of([&] {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(mock.driver().cuMemAlloc(&pointer, 2048), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(mock.driver().cuMemFree(1), CUDA_ERROR_NOT_SUPPORTED);
  });
  EXPECT_THAT(text, HasSubstr("Expected arg #1: is equal to 1024\n"));
  EXPECT_THAT(text, HasSubstr("Expected arg #0: (is equal to 0) or (is > 0x1000)\n"));
}

TEST(Expectation, Of_a_signature_that_the_library_does_not_have_is_compiled_where_it_is_set) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemGetAddressRange(_, _, 0x1000)).WillOnce(Gives(CUdeviceptr{0x800}, 4096u));
  ON_CALL(mock, cuMemGetAddressRange(_, _, 0x2000)).WillByDefault(Returns(CUDA_ERROR_NOT_FOUND));
  CUdeviceptr base = 0;
  std::size_t size = 0;
  EXPECT_EQ(mock.driver().cuMemGetAddressRange(&base, &size, 0x1000), CUDA_SUCCESS);
  EXPECT_EQ(size, 4096u);
}

TEST(Expectation, Without_a_list_of_arguments_it_takes_any) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemFree).Times(2).WillRepeatedly(Returns(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(mock.driver().cuMemFree(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mock.driver().cuMemFree(2), CUDA_ERROR_INVALID_VALUE);
}

TEST(Expectation, It_means_the_symbol_that_a_call_in_the_same_file_means) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemAlloc(_, 1024)).WillOnce(Gives(CUdeviceptr{0x1000}));
  CUdeviceptr pointer = 0;
  Driver &driver = mock;
  const CushimEntry<CUresult(CUdeviceptr *, size_t)> &entry = driver.cuMemAlloc_v2;
  EXPECT_EQ(entry(&pointer, 1024), CUDA_SUCCESS);
  EXPECT_EQ(pointer, 0x1000u);
}

TEST(Expectation, An_entry_of_sixteen_parameters_can_be_expected) {
#if CUDA_VERSION >= 12080
  MockDriver mock;
  EXPECT_CALL(mock, cuTensorMapEncodeIm2colWide(_, _, 3, _, _, _, -4, 4, 8, 16, _, _, _, _, _, _))
      .WillOnce(Returns(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(mock.driver().cuTensorMapEncodeIm2colWide(nullptr, {}, 3, nullptr, nullptr, nullptr, -4, 4, 8, 16,
                                                      nullptr, {}, {}, {}, {}, {}),
            CUDA_ERROR_INVALID_VALUE);
#else
  GTEST_SKIP() << "these headers have no such entry";
#endif
}

TEST(Expectation, One_set_before_the_driver_is_current_holds_afterwards) {
  MockDriver mock;
  EXPECT_CALL(mock, cuDeviceGetCount).WillOnce(Gives(4));
  int count = 0;
  {
    const ScopedDriver scope(mock);
    EXPECT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  }
  EXPECT_EQ(count, 4);
  EXPECT_NE(&current_driver(), &mock.driver());
}

TEST(Expectation, The_typed_wrappers_make_their_calls_on_the_mock) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  testing::InSequence in_order;
  EXPECT_CALL(mock, cuEventCreate(_, CU_EVENT_DISABLE_TIMING)).WillOnce(Gives(kEvent));
  EXPECT_CALL(mock, cuEventRecord(kEvent, kStream));
  EXPECT_CALL(mock, cuEventDestroy(kEvent));
  const Event event = Event::create();
  event.record(StreamRef(kStream));
}

TEST(Expectation, A_missing_call_fails_the_test_at_the_end_with_its_name) {
  const std::string text = failures_of([] {
    MockDriver mock;
    EXPECT_CALL(mock, cuMemFree(0x1000));
  });
  EXPECT_THAT(text, HasSubstr("cuMemFree_v2"));
  EXPECT_THAT(text, HasSubstr("never called"));
}

TEST(Expectation, VerifyAndClearExpectations_takes_a_mock_driver) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit(0));
  const std::string text =
      failures_of([&] { EXPECT_FALSE(testing::Mock::VerifyAndClearExpectations(&mock)); });
  EXPECT_THAT(text, HasSubstr("cuInit"));
}

// Expects that cuInit(0) returns this result and fails the test with this message.
void expect_failure_of_init(MockDriver &mock, CUresult wanted, const char *message) {
  CUresult result = CUDA_SUCCESS;
  const std::string text = failures_of([&] { result = mock.driver().cuInit(0); });
  EXPECT_EQ(result, wanted);
  EXPECT_THAT(text, HasSubstr(message));
}

TEST(Expectation, After_they_are_cleared_a_call_is_unset_again) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit(0));
  EXPECT_EQ(mock.driver().cuInit(0), CUDA_SUCCESS);
  EXPECT_TRUE(testing::Mock::VerifyAndClearExpectations(&mock));
  expect_failure_of_init(mock, CUDA_ERROR_NOT_SUPPORTED,
                         "without an expectation or default action:\n    cuInit(Flags = 0)");
}

TEST(Expectation, After_they_are_cleared_a_call_without_parameters_is_unset_again_too) {
  MockDriver mock;
  EXPECT_CALL(mock, cuCtxSynchronize());
  EXPECT_EQ(mock.driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(testing::Mock::VerifyAndClearExpectations(&mock));
  EXPECT_THAT(failures_of([&] { EXPECT_EQ(mock.driver().cuCtxSynchronize(), CUDA_ERROR_NOT_SUPPORTED); }),
              HasSubstr("without an expectation or default action:\n    cuCtxSynchronize()"));
}

TEST(Expectation, After_all_is_cleared_defaults_are_cleared_too_and_can_be_set_again) {
  MockDriver mock;
  ON_CALL(mock, cuInit).WillByDefault(Returns(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(mock.driver().cuInit(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_TRUE(testing::Mock::VerifyAndClear(&mock));
  EXPECT_THAT(failures_of([&] { EXPECT_EQ(mock.driver().cuInit(0), CUDA_ERROR_NOT_SUPPORTED); }),
              HasSubstr("without an expectation or default action"));
  ON_CALL(mock, cuInit(1)).WillByDefault(Returns(CUDA_ERROR_STUB_LIBRARY));
  EXPECT_EQ(mock.driver().cuInit(1), CUDA_ERROR_STUB_LIBRARY);
  EXPECT_THAT(failures_of([&] { EXPECT_EQ(mock.driver().cuInit(0), CUDA_ERROR_NOT_SUPPORTED); }),
              HasSubstr("without an expectation or default action"));
}

TEST(Expectation, ON_CALL_determines_the_result_of_an_expectation_without_an_action) {
  MockDriver mock;
  ON_CALL(mock, cuInit).WillByDefault(Returns(CUDA_ERROR_NO_DEVICE));
  EXPECT_CALL(mock, cuInit(0));
  EXPECT_EQ(mock.driver().cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST(Expectation, A_call_inside_an_action_does_not_disturb_the_outer_one) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit(1)).WillOnce([&](unsigned) {
    EXPECT_EQ(mock.driver().cuInit(2), CUDA_SUCCESS);  // expected without an action
    return CUDA_ERROR_NO_DEVICE;
  });
  EXPECT_CALL(mock, cuInit(2));
  EXPECT_EQ(mock.driver().cuInit(1), CUDA_ERROR_NO_DEVICE);
}

// Does not cover a call with unexpected arguments: GoogleMock itself terminates the program there.
TEST(Expectation, Where_failures_are_thrown_an_unset_call_throws_and_defaults_do_not) {
  MockDriver mock;
  ON_CALL(mock, cuCtxSynchronize).WillByDefault(Returns(CUDA_ERROR_LAUNCH_FAILED));
  const bool before = GTEST_FLAG_GET(throw_on_failure);
  GTEST_FLAG_SET(throw_on_failure, true);
  CUresult defaulted = CUDA_SUCCESS;
  bool threw = false;
  const std::string text = failures_of([&] {
    defaulted = mock.driver().cuCtxSynchronize();
    try {
      mock.driver().cuInit(1);
    } catch (const std::runtime_error &) {
      threw = true;
    }
  });
  GTEST_FLAG_SET(throw_on_failure, before);
  EXPECT_EQ(defaulted, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(threw);
  EXPECT_THAT(text, HasSubstr("without an expectation or default action:\n    cuInit(Flags = 1)"));
}

TEST(Expectation, ON_CALL_answers_without_being_expected) {
  MockDriver mock;
  ON_CALL(mock, cuCtxSynchronize).WillByDefault(Returns(CUDA_ERROR_LAUNCH_FAILED));
  const std::string text =
      failures_of([&] { EXPECT_EQ(mock.driver().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED); });
  EXPECT_THAT(text, IsEmpty());
}

TEST(Expectation, A_call_with_other_arguments_fails_the_test_and_does_not_succeed) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventRecord(kEvent, kStream));
  CUresult result = CUDA_SUCCESS;
  const std::string text =
      failures_of([&] { result = mock.driver().cuEventRecord(kEvent, CU_STREAM_LEGACY); });
  EXPECT_EQ(result, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(text, HasSubstr("Unexpected mock function call"));
  EXPECT_THAT(text, HasSubstr("cuEventRecord(hEvent = event 0x7f10, hStream = legacy stream)"));
  EXPECT_THAT(text, HasSubstr("stream 0x7f20"));
  EXPECT_THAT(text, HasSubstr("Returns: CUDA_ERROR_NOT_SUPPORTED"));
  EXPECT_EQ(mock.driver().cuEventRecord(kEvent, kStream), CUDA_SUCCESS);
}

TEST(Expectation, A_call_too_many_fails_the_test_and_does_not_succeed) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit(0)).WillOnce(Returns(CUDA_SUCCESS));
  EXPECT_EQ(mock.driver().cuInit(0), CUDA_SUCCESS);
  expect_failure_of_init(mock, CUDA_ERROR_NOT_SUPPORTED, "called more times than expected");
}

TEST(Expectation, A_failure_inside_an_action_reaches_the_test_and_leaves_the_answer) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit).WillOnce([](unsigned flags) {
    EXPECT_EQ(flags, 1u) << "in the action";
    return CUDA_ERROR_NO_DEVICE;
  });
  expect_failure_of_init(mock, CUDA_ERROR_NO_DEVICE, "in the action");
}

TEST(Expectation, An_exception_of_an_action_reaches_the_caller_and_earlier_failures_are_kept) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit).WillOnce([](unsigned) -> CUresult {
    ADD_FAILURE() << "before the throw";
    throw std::runtime_error("thrown");
  });
  const std::string text = failures_of([&] { EXPECT_THROW(mock.driver().cuInit(0), std::runtime_error); });
  EXPECT_THAT(text, HasSubstr("before the throw"));
}

TEST(Expectation, Calls_come_from_any_thread) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventQuery(kEvent)).Times(400).WillRepeatedly(Returns(CUDA_ERROR_NOT_READY));
  std::vector<std::thread> threads;
  std::atomic<int> not_ready{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int call = 0; call < 100; ++call)
        not_ready += mock.driver().cuEventQuery(kEvent) == CUDA_ERROR_NOT_READY;
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(not_ready, 400);
}

TEST(Expectation, One_may_be_set_while_other_threads_call_other_entries) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventQuery(kEvent)).WillRepeatedly(Returns(CUDA_ERROR_NOT_READY));
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) mock.driver().cuEventQuery(kEvent);
  });
  EXPECT_CALL(mock, cuCtxSynchronize).WillOnce(Returns(CUDA_SUCCESS));
  EXPECT_EQ(mock.driver().cuCtxSynchronize(), CUDA_SUCCESS);
  stop = true;
  caller.join();
}

TEST(Gives, Values_go_through_the_out_parameters_in_order) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemGetInfo).WillOnce(Gives(10, 20));
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(mock.driver().cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 10u);
  EXPECT_EQ(total, 20u);
}

TEST(Gives, Handles_and_inputs_are_not_out_parameters) {
  MockDriver mock;
  EXPECT_CALL(mock, cuCtxGetDevice).WillOnce(Gives(3));
  EXPECT_CALL(mock, cuModuleGetFunction).WillOnce(Gives(reinterpret_cast<CUfunction>(0x10)));
  CUdevice device = 0;
  CUfunction function = nullptr;
  EXPECT_EQ(mock.driver().cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(mock.driver().cuModuleGetFunction(&function, nullptr, "kernel"), CUDA_SUCCESS);
  EXPECT_EQ(device, 3);
  EXPECT_EQ(function, reinterpret_cast<CUfunction>(0x10));
}

TEST(Gives, A_null_pointer_is_an_invalid_value_and_nothing_is_written) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemGetInfo).WillOnce(Gives(10, 20));
  size_t free = 7;
  EXPECT_EQ(mock.driver().cuMemGetInfo(&free, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free, 7u);
}

TEST(Gives, Through_a_void_pointer_the_bytes_of_the_value_are_written) {
  MockDriver mock;
  EXPECT_CALL(mock, cuPointerGetAttribute).WillOnce(Gives(CU_MEMORYTYPE_DEVICE));
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  EXPECT_EQ(mock.driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 1), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
}

TEST(GivesText, Text_is_cut_to_the_buffer) {
  MockDriver mock;
  EXPECT_CALL(mock, cuDeviceGetName).WillRepeatedly(GivesText("NVIDIA H200"));
  char name[7] = "";
  EXPECT_EQ(mock.driver().cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "NVIDIA");
  EXPECT_EQ(mock.driver().cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cushim::mock
