// SPDX-License-Identifier: Apache-2.0
// Makes every driver call of every operation fail, with several results. Each acquired object is released
// exactly once, no context stays pushed, and the error, thrown or reported by a destructor, names the failed
// call and its result.
#include <gmock/gmock.h>

#include <algorithm>

#include "operations.hpp"

namespace cushim::test {
namespace {

using testing::IsEmpty;

class Failure : public testing::TestWithParam<Operation> {};

TEST_P(Failure, Of_any_call_leaks_nothing_and_is_reported_by_its_name) {
  std::size_t count = 0;
  {
    Recording recording;
    GetParam().run();
    count = recording.calls().size();
    EXPECT_THAT(recording.live(), IsEmpty());
    EXPECT_THAT(recording.wrong_releases(), IsEmpty());
  }
  ASSERT_GT(count, 0u);
  for (CUresult result : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED,
                          CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_ILLEGAL_ADDRESS,
                          CUDA_ERROR_UNKNOWN}) {
    for (std::size_t nth = 1; nth <= count; ++nth) {
      Recording recording;
      recording.fail(static_cast<int>(nth), result);
      const std::optional<Error> error = thrown_by(GetParam().run);
      std::string told = error ? error->what() : "";
      if (error) {
        EXPECT_EQ(error->routine(), recording.failed());
        EXPECT_EQ(error->result(), result);
      }
      SCOPED_TRACE(recording.failed() + " fails with " + std::to_string(result) + ", call " +
                   std::to_string(nth));
      if (told.empty()) {
        ASSERT_THAT(Recording::unreported(), testing::SizeIs(1));
        told = Recording::unreported().front();
      } else {
        EXPECT_THAT(Recording::unreported(), IsEmpty());
      }
      EXPECT_THAT(told, testing::StartsWith(recording.failed() + ": " + std::string(name_of(result))));
      // An object that is released in a context leaks if that context cannot be made current again.
      Calls calls = recording.calls();
      const auto pushes =
          std::count_if(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(nth),
                        [](const std::string &call) { return call.starts_with("cuCtxPush"); });
      if (recording.failed() != "cuCtxPushCurrent" || pushes == 1) {
        EXPECT_THAT(recording.live(), IsEmpty());
      }
      EXPECT_THAT(recording.wrong_releases(), IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Failure, testing::ValuesIn(kOperations),
                         [](const auto &info) { return name_of_test(info.param); });

}  // namespace
}  // namespace cushim::test
