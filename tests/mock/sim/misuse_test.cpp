// SPDX-License-Identifier: Apache-2.0
// Calls that are undefined on a real driver return an error and are reported.
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

TEST(Misuse, An_event_that_was_destroyed_is_said_to_be_so) {
  const Running running;
  const CUevent event = running.event();
  need(driver().cuEventDestroy(event));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuEventQuery: the event"), said.npos) << said;
  EXPECT_NE(said.find("cuEventDestroy_v2: the event"), said.npos) << said;
  EXPECT_NE(said.find("was destroyed by cuEventDestroy_v2"), said.npos) << said;
}

TEST(Misuse, A_destroyed_handle_does_not_name_what_is_made_after_it) {
  const Running running;
  const CUevent destroyed = running.event();
  need(driver().cuEventDestroy(destroyed));
  const CUevent next = running.event();
  EXPECT_NE(next, destroyed);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(destroyed), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("was destroyed"), said.npos) << said;
  EXPECT_EQ(driver().cuEventQuery(next), CUDA_SUCCESS);
}

TEST(Misuse, An_event_knows_nothing_of_one_that_was_destroyed) {
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

TEST(Misuse, A_stream_that_was_destroyed_is_said_to_be_so) {
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

TEST(Misuse, Handles_are_not_mixed_up_after_ever_so_many) {
  const Running running;
  const CUevent kept = running.event();
  const CUevent first = running.event();
  need(driver().cuEventDestroy(first));
  for (int i = 0; i < 300'000; ++i) {  // exceeds the number of times that a table slot is reused
    const CUevent event = running.event();
    ASSERT_NE(event, first);
    need(driver().cuEventDestroy(event));
  }
  EXPECT_EQ(driver().cuEventQuery(kept), CUDA_SUCCESS);
}

TEST(Misuse, Of_more_events_than_there_are_handles_is_out_of_memory) {
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

TEST(Misuse, A_stream_in_the_place_of_an_event_is_said_to_be_one) {
  const Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(reinterpret_cast<CUevent>(running.stream())), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("is a stream"), said.npos) << said;
}

TEST(Misuse, A_number_that_was_never_a_handle_is_said_to_be_none) {
  const Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuStreamQuery(reinterpret_cast<CUstream>(0xdeadbeef)), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("was never made"), said.npos) << said;
}

std::string said_of_two_uses_of_a_destroyed_event(const Options &options) {
  const Running running(options);
  const CUevent event = running.event();
  need(driver().cuEventDestroy(event));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Misuse, Is_said_with_what_tells_where_the_handle_was_made_once) {
  const std::string hint = "cushim[sim]: where handles are made and destroyed: check::Misuse tells\n";
  const std::string said = said_of_two_uses_of_a_destroyed_event({});
  ASSERT_NE(said.find(hint), said.npos) << said;
  EXPECT_EQ(said.find(hint), said.rfind(hint)) << said;
}

TEST(Misuse, Of_the_library_is_said_with_the_variable_that_tells_where_the_handle_was_made) {
  const std::string said = said_of_two_uses_of_a_destroyed_event({.is_library = true});
  EXPECT_NE(said.find("where handles are made and destroyed: CUSHIM_CHECK=misuse tells\n"), said.npos)
      << said;
}

TEST(Misuse, Of_what_was_never_a_handle_is_said_without) {
  const Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuStreamQuery(reinterpret_cast<CUstream>(0xdeadbeef)), CUDA_ERROR_INVALID_HANDLE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("where handles are made"), said.npos) << said;
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

TEST(NotImplemented, A_call_is_refused_said_once_and_not_found_by_lookups) {
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
