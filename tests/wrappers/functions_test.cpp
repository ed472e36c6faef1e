// SPDX-License-Identifier: Apache-2.0
// The exact driver calls of functions of the wrappers, and their errors when each call fails.
#include <gmock/gmock.h>

#include <regex>

#include "described_functions.hpp"

namespace cushim::test {
namespace {

// Makes the recording driver hand out a stream of a green context, because the null stream cannot be owned.
void behave([[maybe_unused]] Recording &recording) {
#if CUDA_VERSION >= 12050
  recording.on<Entry::cuGreenCtxStreamCreate_v12050>([](CUstream *made, CUgreenCtx, unsigned, int) {
    *made = stream_handle(0x51);
    return CUDA_SUCCESS;
  });
#endif
}

// Replaces the addresses of variables of the process by "&".
Calls without_host_addresses(Calls calls) {
  static const std::regex address("0x[0-9a-f]{9,14}\\b");
  for (std::string &call : calls) call = std::regex_replace(call, address, "&");
  return calls;
}

class Functions : public testing::TestWithParam<Described> {};

TEST_P(Functions, Make_exactly_the_calls_that_their_comments_name) {
  Recording recording;
  behave(recording);
  GetParam().run();
  const Calls calls = without_host_addresses(recording.calls());
  EXPECT_EQ(calls, GetParam().calls);
}

TEST_P(Functions, Name_the_call_that_failed) {
  const std::size_t count = GetParam().calls.size();
  for (std::size_t nth = 1; nth <= count; ++nth) {
    Recording recording;
    behave(recording);
    recording.fail(static_cast<int>(nth), CUDA_ERROR_UNKNOWN);
    const std::optional<Error> error = thrown_by(GetParam().run);
    const std::string told = error ? error->routine() : "";
    // The two names of errors are empty for an unknown result.
    if (recording.failed().starts_with("cuGetError")) continue;
    if (told.empty()) {
      EXPECT_THAT(Recording::unreported(), testing::Contains(testing::StartsWith(recording.failed() + ":")));
    } else {
      EXPECT_EQ(told, recording.failed());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kDescribed),
                         [](const auto &info) { return name_of_test(info.param); });

}  // namespace
}  // namespace cushim::test
