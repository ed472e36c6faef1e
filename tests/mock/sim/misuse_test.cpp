// SPDX-License-Identifier: Apache-2.0
// Calls that are undefined on a real driver return an error and are reported.
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

CUevent destroyed_event(const Running &running) {
  const CUevent event = running.event();
  need(driver().cuEventDestroy(event));
  return event;
}

TEST(Misuse, A_destroyed_event_is_reported_as_destroyed) {
  const Running running;
  const CUevent event = destroyed_event(running);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuEventQuery: the event"), said.npos) << said;
  EXPECT_NE(said.find("cuEventDestroy_v2: the event"), said.npos) << said;
  EXPECT_NE(said.find("was destroyed by cuEventDestroy_v2"), said.npos) << said;
}

TEST(Misuse, A_destroyed_handle_does_not_identify_a_later_object) {
  const Running running;
  const CUevent destroyed = destroyed_event(running);
  const CUevent next = running.event();
  EXPECT_NE(next, destroyed);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(destroyed), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("was destroyed"), said.npos) << said;
  EXPECT_EQ(driver().cuEventQuery(next), CUDA_SUCCESS);
}

TEST(Misuse, A_new_event_has_no_state_of_a_destroyed_one) {
  const Running running({.schedule = Schedule::deferred});
  const CUstream stream = running.stream();
  const CUevent destroyed = running.event();
  need(driver().cuMemsetD32Async(running.memory(), 7, 1, stream));
  need(driver().cuEventRecord(destroyed, stream));
  ASSERT_EQ(driver().cuEventQuery(destroyed), CUDA_ERROR_NOT_READY);
  need(driver().cuEventDestroy(destroyed));
  const CUevent next = running.event(), last = running.event();
  EXPECT_EQ(driver().cuEventQuery(next), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, next, last), CUDA_ERROR_INVALID_HANDLE);
  need(driver().cuEventRecord(next, stream));
  need(driver().cuEventRecord(last, stream));
  need(driver().cuStreamSynchronize(stream));
  need(driver().cuEventElapsedTime(&milliseconds, next, last));
}

TEST(Misuse, A_destroyed_stream_is_reported_as_destroyed) {
  const Running running;
  const CUstream stream = running.stream();
  need(driver().cuStreamDestroy(stream));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventRecord(running.event(), stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const char *call : {"cuStreamSynchronize: ", "cuEventRecord: ", "cuStreamDestroy_v2: "})
    EXPECT_NE(said.find(call + std::string("the stream")), said.npos) << said;
  EXPECT_NE(said.find("was destroyed by cuStreamDestroy_v2"), said.npos) << said;
}

TEST(Misuse, Handles_stay_distinct_after_many_objects) {
  const Running running;
  const CUevent kept = running.event();
  const CUevent first = destroyed_event(running);
  for (int i = 0; i < 300'000; ++i) {  // exceeds the number of times that a table slot is reused
    ASSERT_NE(destroyed_event(running), first);
  }
  EXPECT_EQ(driver().cuEventQuery(kept), CUDA_SUCCESS);
}

TEST(Misuse, Creating_more_events_than_handles_returns_out_of_memory) {
  if (kIsSanitized) GTEST_SKIP() << "that many objects take a sanitizer several GB";
  const Running running;
  const CUstream stream = running.stream();
  std::vector<CUevent> events;
  CUevent event = nullptr;
  CUresult code = CUDA_SUCCESS;
  while ((code = driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)) == CUDA_SUCCESS)
    events.push_back(event);
  EXPECT_EQ(code, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_GE(events.size(), 4'194'000u);
  CUcontext context = nullptr;
  CUstream another = nullptr;
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR shape = {};
  shape.Width = 16;
  shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  shape.NumChannels = 1;
  std::size_t before = 0, after = 0, total = 0;
  need(driver().cuMemGetInfo(&before, &total));
  EXPECT_EQ(driver().cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuStreamCreate(&another, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuArrayCreate(&array, &shape), CUDA_ERROR_OUT_OF_MEMORY);
  need(driver().cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before) << "the array's memory is given back";
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventQuery(events.front()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventDestroy(events.front()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_NE(event, events.front());
}

TEST(Misuse, A_stream_passed_as_an_event_is_reported_as_a_stream) {
  const Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(reinterpret_cast<CUevent>(running.stream())), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("is a stream"), said.npos) << said;
}

std::string said_of_a_number_that_was_never_a_handle() {
  const Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuStreamQuery(reinterpret_cast<CUstream>(0xdeadbeef)), CUDA_ERROR_INVALID_HANDLE);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Misuse, A_number_that_was_never_a_handle_is_reported) {
  const std::string said = said_of_a_number_that_was_never_a_handle();
  EXPECT_NE(said.find("was never made"), said.npos) << said;
}

std::string said_of_two_uses_of_a_destroyed_event(const Options &options) {
  const Running running(options);
  const CUevent event = destroyed_event(running);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Misuse, Is_reported_with_one_hint_to_the_misuse_checker) {
  const std::string hint = "cushim[sim]: check::Misuse reports where handles are created and destroyed\n";
  const std::string said = said_of_two_uses_of_a_destroyed_event({});
  ASSERT_NE(said.find(hint), said.npos) << said;
  EXPECT_EQ(said.find(hint), said.rfind(hint)) << said;
}

TEST(Misuse, Of_the_library_is_reported_with_the_variable_of_the_misuse_checker) {
  const std::string said = said_of_two_uses_of_a_destroyed_event({.is_library = true});
  EXPECT_NE(said.find("CUSHIM_CHECK=misuse reports where handles are created and destroyed\n"), said.npos)
      << said;
}

TEST(Misuse, Of_a_number_that_was_never_a_handle_is_reported_without_the_hint) {
  const std::string said = said_of_a_number_that_was_never_a_handle();
  EXPECT_EQ(said.find("where handles are created"), said.npos) << said;
}

TEST(Misuse, Calls_after_the_machines_end_are_refused) {
  Driver *ended = nullptr;
  {
    const Machine machine;
    ended = &machine.driver();
  }
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ended->cuInit(0), CUDA_ERROR_DEINITIALIZED);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("was destroyed"), std::string::npos);
}

TEST(NotImplemented, A_call_fails_is_reported_once_and_is_not_found_by_lookups) {
  const Running running;
  int list = 0;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuDeviceGetNvSciSyncAttributes(&list, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver().cuDeviceGetNvSciSyncAttributes(&list, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuDeviceGetNvSciSyncAttributes is not implemented"), said.npos) << said;
  EXPECT_EQ(said.find("cuDeviceGetNvSciSyncAttributes", said.find("cuDeviceGetNvSciSyncAttributes") + 1),
            said.npos)
      << said;
  EXPECT_FALSE(running.machine.driver().supports<&cuDeviceGetNvSciSyncAttributes>());
  void *function = &function;
  CUdriverProcAddressQueryResult status{};
  need(driver().cuGetProcAddress_v2("cuDeviceGetNvSciSyncAttributes", &function, 12000, 0, &status));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

}  // namespace
}  // namespace cushim::sim
