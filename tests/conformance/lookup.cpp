// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

namespace conformance {
namespace {

using Status = CUdriverProcAddressQueryResult;

// cuGetProcAddress of CUDA 12, through which this suite finds all other functions.
class Lookup : public Initialized {
 protected:
  void SetUp() override {
    Initialized::SetUp();
    NEED(driver().cuDriverGetVersion(&version));
  }

 public:
  CUresult find(const char *base, int wanted, cuuint64_t flags = 0) {
    function = &function;
    status = static_cast<Status>(99);
    return driver().cuGetProcAddress_v2(base, &function, wanted, flags, &status);
  }
  int version = 0;
  void *function = nullptr;
  Status status{};
};

// Looks up every entry point of the list that this driver's release has, by its name and release.
[[maybe_unused]] const bool entries_added = [] {
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const CushimEntryInfo &entry = *cushim_entry(slot);
    const std::string name = std::string(entry.base) + "_of_" + std::to_string(entry.version) + entry.thread;
    ADD_TEST(Lookup, name, [&entry, slot](Lookup &t) {
      const bool per_thread = *entry.thread != '\0';
      const CUresult code = t.find(
          entry.base, entry.version,
          per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM);
      answer("cuGetProcAddress", code);
      if (entry.version > t.version) {
        EXPECT_EQ(code, CUDA_ERROR_INVALID_VALUE) << "a release above the driver's";
        return;
      }
      EXPECT_EQ(code, CUDA_SUCCESS);
      EXPECT_EQ(answer("found", t.function != nullptr), cushim_supports(cushim_driver(), slot));
      RECORD_VALUE(static_cast<int>(t.status));
      EXPECT_EQ(t.function == nullptr, t.status != CU_GET_PROC_ADDRESS_SUCCESS);
    });
  }
  return true;
}();

TEST_F(Lookup, An_unknown_name_is_no_error_but_a_null_function) {
  EXPECT_ANSWER(find("cuNoSuchFunction", 12000), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
  EXPECT_VALUE(static_cast<int>(status), int(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
}

TEST_F(Lookup, An_empty_name_is_unknown) {
  EXPECT_ANSWER(find("", 12000), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
  EXPECT_VALUE(static_cast<int>(status), int(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
}

TEST_F(Lookup, A_name_with_its_suffix_is_unknown) {
  EXPECT_ANSWER(find("cuMemAlloc_v2", 12000), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
}

TEST_F(Lookup, Names_are_told_apart_by_case) {
  EXPECT_ANSWER(find("cumemalloc", 12000), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
}

TEST_F(Lookup, A_release_too_low_is_no_error_but_a_status) {
  EXPECT_ANSWER(find("cuMemAllocAsync", 10000), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
  EXPECT_VALUE(static_cast<int>(status), int(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
}

TEST_F(Lookup, A_release_above_the_driver_is_an_error) {
  EXPECT_ANSWER(find("cuMemAlloc", version + 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(function == &function, true);
}

TEST_F(Lookup, The_highest_release_is_an_error) {
  EXPECT_ANSWER(find("cuMemAlloc", 2147483647), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Lookup, The_release_of_the_driver_is_accepted) {
  EXPECT_ANSWER(find("cuMemAlloc", version), CUDA_SUCCESS);
  EXPECT_VALUE(function != nullptr, true);
}

TEST_F(Lookup, Release_0_finds_nothing) {
  EXPECT_ANSWER(find("cuMemAlloc", 0), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
  EXPECT_VALUE(static_cast<int>(status), int(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
}

TEST_F(Lookup, A_negative_release_finds_something) {
  EXPECT_ANSWER(find("cuMemAlloc", -1), CUDA_SUCCESS);
  EXPECT_VALUE(function != nullptr, true);
}

TEST_F(Lookup, Different_releases_give_different_functions) {
  EXPECT_ANSWER(find("cuMemAlloc", 2000), CUDA_SUCCESS);
  void *const first = function;
  EXPECT_ANSWER(find("cuMemAlloc", 3020), CUDA_SUCCESS);
  EXPECT_VALUE(first != nullptr && first != function, true);
}

TEST_F(Lookup, A_release_between_two_gives_the_older) {
  EXPECT_ANSWER(find("cuMemAlloc", 3019), CUDA_SUCCESS);
  void *const between = function;
  EXPECT_ANSWER(find("cuMemAlloc", 2000), CUDA_SUCCESS);
  EXPECT_VALUE(between == function, true);
}

TEST_F(Lookup, The_lookup_finds_itself) {
  EXPECT_ANSWER(find("cuGetProcAddress", 12000), CUDA_SUCCESS);
  EXPECT_VALUE(function != nullptr, true);
}

TEST_F(Lookup, Per_thread_streams_give_another_function) {
  EXPECT_ANSWER(find("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM), CUDA_SUCCESS);
  void *const legacy = function;
  EXPECT_ANSWER(find("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM), CUDA_SUCCESS);
  EXPECT_VALUE(function != nullptr && function != legacy, true);
}

TEST_F(Lookup, Per_thread_streams_change_nothing_for_a_call_without_a_stream) {
  EXPECT_ANSWER(find("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM), CUDA_SUCCESS);
  void *const legacy = function;
  EXPECT_ANSWER(find("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM), CUDA_SUCCESS);
  EXPECT_VALUE(function == legacy, true);
}

// The documentation describes flags 1 and 2 as alternatives.
STATEMENT(Lookup, Both_stream_flags_are_accepted, find("cuStreamQuery", 12000, 3), CUDA_SUCCESS)
STATEMENT(Lookup, The_flag_4_is_refused, find("cuStreamQuery", 12000, 4), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Lookup, The_flag_8_is_refused, find("cuStreamQuery", 12000, 8), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Lookup, All_flags_are_refused, find("cuStreamQuery", 12000, ~cuuint64_t{0}),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Lookup, Bad_flags_are_found_with_an_unknown_name, find("cuNoSuchFunction", 12000, 4),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Lookup, A_bad_release_is_found_with_an_unknown_name, find("cuNoSuchFunction", version + 10),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(Lookup, Needs_a_place_for_the_function) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuGetProcAddress_v2("cuMemAlloc", nullptr, 12000, 0, &status),
                CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(Lookup, Needs_no_place_for_the_status,
          driver().cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, nullptr), CUDA_SUCCESS)

TEST_F(Lookup, Without_a_status_an_unknown_name_is_no_error_either) {
  EXPECT_ANSWER(driver().cuGetProcAddress_v2("cuNoSuchFunction", &function, 12000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
}

TEST_F(Lookup, Without_a_status_a_release_too_low_is_no_error_either) {
  EXPECT_ANSWER(driver().cuGetProcAddress_v2("cuMemAllocAsync", &function, 10000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_VALUE(function == nullptr, true);
}

TEST_F(Lookup, Needs_a_name) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuGetProcAddress_v2(nullptr, &function, 12000, 0, &status),
                CUDA_ERROR_INVALID_VALUE);
}

class LookupBeforeInitialization : public ::testing::Test {};

TEST_F(LookupBeforeInitialization, Works) {
  CUSHIM_IN_A_FRESH_PROCESS();
  void *function = nullptr;
  Status status{};
  EXPECT_ANSWER(driver().cuGetProcAddress_v2("cuInit", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_VALUE(function != nullptr, true);
}

TEST_F(LookupBeforeInitialization, Refuses_bad_flags) {
  CUSHIM_IN_A_FRESH_PROCESS();
  void *function = nullptr;
  Status status{};
  EXPECT_ANSWER(driver().cuGetProcAddress_v2("cuInit", &function, 12000, 4, &status),
                CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance
