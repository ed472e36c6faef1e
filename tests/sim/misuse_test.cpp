// SPDX-License-Identifier: Apache-2.0
// What a real driver leaves undefined is answered with an error, and said.
#include "fixture.hpp"

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
  EXPECT_NE(said.find("was destroyed"), said.npos) << said;
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

TEST(Misuse, Calls_after_the_machines_end_are_refused) {
  Driver *ended = nullptr;
  {
    const Machine machine;
    ended = &machine.driver();
  }
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ended->cuInit(0), CUDA_ERROR_DEINITIALIZED);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("has ended"), std::string::npos);
}

TEST(NotImplemented, A_call_is_refused_said_once_and_not_found_by_lookups) {
  const Running running;
  CUgraph graph = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cuGraphCreate is not implemented"), said.npos) << said;
  EXPECT_EQ(said.find("cuGraphCreate", said.find("cuGraphCreate") + 1), said.npos) << said;
  EXPECT_FALSE(running.machine.driver().supports<&cuGraphCreate>());
  void *function = &function;
  CUdriverProcAddressQueryResult status{};
  need(driver().cuGetProcAddress_v2("cuGraphCreate", &function, 12000, 0, &status));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

}  // namespace
}  // namespace cushim::sim
