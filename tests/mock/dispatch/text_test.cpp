// SPDX-License-Identifier: Apache-2.0
// Text for results, handles, flags and calls.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <array>

namespace {

using cushim::Entry;
using cushim::mock::Call;
using cushim::mock::Value;
using testing::PrintToString;

TEST(Words, A_result_is_its_name_its_number_and_its_text) {
  EXPECT_EQ(PrintToString(CUDA_ERROR_INVALID_HANDLE), "CUDA_ERROR_INVALID_HANDLE (400, invalid handle)");
  EXPECT_EQ(PrintToString(CUDA_SUCCESS), "CUDA_SUCCESS (0)");
  EXPECT_EQ(PrintToString(static_cast<CUresult>(1000)), "unknown result 1000");
}

TEST(Words, Handles_have_nouns_and_the_special_streams_names) {
  EXPECT_EQ(PrintToString(reinterpret_cast<CUevent>(0x10)), "event 0x10");
  EXPECT_EQ(PrintToString(CUcontext{nullptr}), "null context");
  EXPECT_EQ(PrintToString(CUstream{nullptr}), "null stream");
  EXPECT_EQ(PrintToString(CU_STREAM_LEGACY), "legacy stream");
  EXPECT_EQ(PrintToString(CU_STREAM_PER_THREAD), "per-thread stream");
  EXPECT_EQ(PrintToString(reinterpret_cast<CUevent>(1)), "event 0x1");
}

TEST(Words, Flags_are_the_names_that_their_call_gives_them) {
  using cushim::mock::flags_text;
  const auto of_event = [](unsigned flags) { return flags_text("cuEventCreate", flags); };
  EXPECT_EQ(of_event(0), "CU_EVENT_DEFAULT");
  EXPECT_EQ(of_event(6), "CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING");
  EXPECT_EQ(of_event(0x42), "CU_EVENT_DISABLE_TIMING | 0x40");
  EXPECT_EQ(flags_text("cuStreamWaitValue32", 3), "CU_STREAM_WAIT_VALUE_NOR");
  EXPECT_EQ(flags_text("cuMemHostAlloc", 0), "0");
  EXPECT_EQ(flags_text("cuNoFlags", 5), "5");
  EXPECT_EQ(PrintToString(CU_EVENT_INTERPROCESS), "CU_EVENT_INTERPROCESS");
  EXPECT_EQ(PrintToString(CU_STREAM_NON_BLOCKING), "CU_STREAM_NON_BLOCKING");
}

template <class... Arguments>
std::string words(Entry entry, Arguments... arguments) {
  const std::array<Value, sizeof...(Arguments)> values{Value(arguments)...};
  return Call{entry, values}.to_text();
}

TEST(Words, A_call_names_its_parameters) {
  EXPECT_EQ(words(Entry::cuEventRecord, CUevent{nullptr}, CU_STREAM_PER_THREAD),
            "cuEventRecord(hEvent = null event, hStream = per-thread stream)");
  EXPECT_EQ(words(Entry::cuEventCreate, static_cast<CUevent *>(nullptr), 2u),
            "cuEventCreate(phEvent = null, Flags = CU_EVENT_DISABLE_TIMING)");
  EXPECT_EQ(words(Entry::cuCtxSynchronize_v2000), "cuCtxSynchronize()");
}

TEST(Words, Arguments_of_every_kind) {
  EXPECT_EQ(Value(-3).to_text("", ""), "-3");
  EXPECT_EQ(Value(size_t{1024}).to_text("", ""), "1024");
  EXPECT_EQ(Value(CUdeviceptr{0x1000}).to_text("", ""), "0x1000");
  EXPECT_EQ(Value(1.5f).to_text("", ""), "1.5");
  EXPECT_EQ(Value(static_cast<const char *>("text")).to_text("", ""), "\"text\"");
  EXPECT_EQ(Value(static_cast<const char *>(nullptr)).to_text("", ""), "null");
  EXPECT_EQ(Value(CUuuid{}).to_text("", ""), "{16 bytes}");
  EXPECT_EQ(Value(CUDA_ERROR_NO_DEVICE).to_text("", ""), "CUDA_ERROR_NO_DEVICE (100, no device)");
}

}  // namespace
