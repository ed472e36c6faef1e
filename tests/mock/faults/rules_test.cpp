// SPDX-License-Identifier: Apache-2.0
// Tests of the rule parser.
#include <gtest/gtest.h>
#include <cushim/faults/fault_rules.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace cushim::mock {
namespace {

using std::chrono::nanoseconds;

template <class What>
What only(const std::string &text) {
  const FaultRules rules = parse_fault_rules(text);
  EXPECT_EQ(rules.size(), 1U);
  return std::get<What>(rules.at(0).what);
}
CallFault call(const std::string &text) { return only<CallFault>(text); }

std::string what_is_wrong(const std::string &text) {
  try {
    parse_fault_rules(text);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "nothing";
}

bool has(const CallFault &fault, Entry entry) {
  return std::ranges::find(fault.slots, static_cast<int>(entry)) != fault.slots.end();
}

TEST(FaultRules, A_base_name_means_all_versions_of_the_function) {
  const CallFault fault = call("cuMemAlloc:3=OUT_OF_MEMORY");
  EXPECT_EQ(fault.slots.size(), 2U);
  EXPECT_TRUE(has(fault, Entry::cuMemAlloc_v2000));
  EXPECT_TRUE(has(fault, Entry::cuMemAlloc_v3020));
  EXPECT_TRUE(has(call("cuStreamQuery:1=UNKNOWN"), Entry::cuStreamQuery_v7000_ptsz));
}

TEST(FaultRules, An_exact_symbol_that_is_not_a_base_name_means_that_version_only) {
  const CallFault fault = call("cuMemAlloc_v2:1=OUT_OF_MEMORY");
  ASSERT_EQ(fault.slots.size(), 1U);
  EXPECT_TRUE(has(fault, Entry::cuMemAlloc_v3020));
}

TEST(FaultRules, A_glob_means_all_that_it_matches) {
  const CallFault events = call("cuEvent*:1=UNKNOWN");
  EXPECT_TRUE(has(events, Entry::cuEventCreate_v2000));
  EXPECT_TRUE(has(events, Entry::cuEventRecord_v7000_ptsz));
  EXPECT_FALSE(has(events, Entry::cuStreamWaitEvent_v3020));
  EXPECT_EQ(call("*:1=UNKNOWN").slots.size(), static_cast<std::size_t>(cushim_entry_count()));
  EXPECT_TRUE(has(call("cu?nit:1=UNKNOWN"), Entry::cuInit_v2000));
  EXPECT_TRUE(has(call("*Stream*Query:1=UNKNOWN"), Entry::cuStreamQuery_v2000));
}

TEST(FaultRules, Say_which_calls_by_number) {
  const auto counted = [](const std::string &when) {
    return std::get<CountedCalls>(call("cuInit:" + when + "=UNKNOWN").when);
  };
  EXPECT_EQ(counted("3").first, 3U);
  EXPECT_EQ(counted("3").last, 3U);
  EXPECT_EQ(counted("3-5").last, 5U);
  EXPECT_EQ(counted("3+").first, 3U);
  EXPECT_EQ(counted("3+").last, CountedCalls{}.last);
  EXPECT_EQ(counted("*").first, 1U);
}

TEST(FaultRules, Say_which_calls_by_probability_and_seed) {
  const auto random = std::get<RandomCalls>(call("cuEvent*:p0.01@seed7=LAUNCH_FAILED").when);
  EXPECT_EQ(random.probability, 0.01);
  EXPECT_EQ(random.seed, 7U);
  EXPECT_EQ(std::get<RandomCalls>(call("cuInit:p1=UNKNOWN").when).seed, 1U);
}

TEST(FaultRules, Name_results_with_and_without_prefix_and_by_number) {
  for (const char *name : {"OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY", "2"})
    EXPECT_EQ(call(std::string("cuInit:1=") + name).result, CUDA_ERROR_OUT_OF_MEMORY) << name;
}

TEST(FaultRules, Are_sticky_with_results_after_which_a_context_is_lost_unless_they_say_once) {
  EXPECT_TRUE(call("cuEvent*:1=LAUNCH_FAILED").is_sticky);
  EXPECT_FALSE(call("cuEvent*:1=LAUNCH_FAILED,once").is_sticky);
  EXPECT_FALSE(call("cuEvent*:1=OUT_OF_MEMORY").is_sticky);
  EXPECT_TRUE(call("cuEvent*:1=UNKNOWN , sticky , late").is_sticky);
  EXPECT_TRUE(call("cuEvent*:1=UNKNOWN,late").is_late);
}

TEST(FaultRules, Limit_the_memory_of_each_device_or_of_one) {
  EXPECT_EQ(only<MemoryLimit>("memory:2GiB").bytes, std::uint64_t{2} << 30);
  EXPECT_FALSE(only<MemoryLimit>("memory:2GiB").device.has_value());
  EXPECT_EQ(only<MemoryLimit>("memory:1.5 KiB").bytes, 1536U);
  EXPECT_EQ(only<MemoryLimit>("memory:4096").bytes, 4096U);
  EXPECT_EQ(only<MemoryLimit>("device12:memory:1MiB").device, 12);
}

TEST(FaultRules, Lose_a_device_at_a_time_or_a_call) {
  const auto at_time = only<DeviceLoss>("device1:lost@1.5ms");
  EXPECT_EQ(at_time.device, 1);
  EXPECT_EQ(std::get<nanoseconds>(at_time.at), nanoseconds(1'500'000));
  EXPECT_EQ(at_time.result, CUDA_ERROR_UNKNOWN);
  const auto at_call = only<DeviceLoss>("device0: lost @ call 100 = ECC_UNCORRECTABLE");
  EXPECT_EQ(std::get<std::uint64_t>(at_call.at), 100U);
  EXPECT_EQ(at_call.result, CUDA_ERROR_ECC_UNCORRECTABLE);
}

TEST(FaultRules, Stand_one_a_line_or_between_semicolons_with_comments) {
  const FaultRules rules = parse_fault_rules(
      "# none yet\n\n  memory:1GiB  # little\ncuInit:1=UNKNOWN;device0:lost@call3 ;;\r\n\tcuInit : 2 = 999");
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(rules[0].text, "memory:1GiB");
  EXPECT_EQ(rules[0].line, 3U);
  EXPECT_EQ(rules[0].column, 3U);
  EXPECT_EQ(rules[2].text, "device0:lost@call3");
  EXPECT_EQ(rules[2].line, 4U);
  EXPECT_EQ(rules[2].column, 18U);
  EXPECT_EQ(rules[3].line, 5U);
  EXPECT_TRUE(rules[0].needs_machine());
  EXPECT_FALSE(rules[1].needs_machine());
  EXPECT_TRUE(parse_fault_rules("").empty());
  EXPECT_TRUE(parse_fault_rules(" # nothing").empty());
}

struct Wrong {
  const char *text, *what;
};
class WrongRule : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongRule, Is_refused_with_its_place_and_the_nearest_word) {
  EXPECT_EQ(what_is_wrong(GetParam().text), GetParam().what);
}

INSTANTIATE_TEST_SUITE_P(
    , WrongRule,
    ::testing::Values(
        Wrong{"cuMemAloc:3=OUT_OF_MEMORY",
              "faults:1:1: there is no function \"cuMemAloc\"; did you mean \"cuMemAlloc\"?"},
        Wrong{"memory:1GiB\n  cuInit:1=OUT_OF_MEMRY",
              "faults:2:12: there is no result \"OUT_OF_MEMRY\"; did you mean \"OUT_OF_MEMORY\"?"},
        Wrong{"cuInit:1=CUDA_ERROR_UNKNOWM",
              "faults:1:10: there is no result \"UNKNOWM\"; did you mean \"UNKNOWN\"?"},
        Wrong{"cuInit:1=SUCCESS", "faults:1:10: a fault cannot return CUDA_SUCCESS; name an error"},
        Wrong{"cuInit:1=UNKNOWN,lat",
              "faults:1:18: there is no word after a comma \"lat\"; did you mean \"late\"?"},
        Wrong{"cuInit:0=UNKNOWN", "faults:1:8: call numbers start at 1"},
        Wrong{"cuInit:3-2=UNKNOWN", "faults:1:8: the last call number is less than the first"},
        Wrong{"cuInit:99999999999999999999=UNKNOWN", "faults:1:8: the number is too large"},
        Wrong{"cuInit:p0=UNKNOWN", "faults:1:9: a probability must be greater than 0 and at most 1"},
        Wrong{"cuInit:p1.0.1=UNKNOWN",
              "faults:1:9: expected a probability after p, as in p0.01, but found "
              "\"1.0.1\""},
        Wrong{"cuInit:p0.1@sed7=UNKNOWN",
              "faults:1:13: there is no word after a probability's @ \"sed\"; did you mean \"seed\"?"},
        Wrong{"cuInit",
              "faults:1:7: expected \":\" and a call number or probability, as in "
              "cuInit:3=OUT_OF_MEMORY, but found the end"},
        Wrong{"cuInit:x",
              "faults:1:8: the call must be a number (3, 3-5, 3+), * for all, or a probability "
              "(p0.01@seed7), not \"x\""},
        Wrong{"cuInit:1=UNKNOWN memory:1GiB",
              "faults:1:18: the rule ends here, but \"m\" follows; separate rules by "
              "; or a new line"},
        Wrong{"memory:2GB", "faults:1:9: there is no unit \"GB\"; did you mean \"B\"?"},
        Wrong{"memory:0", "faults:1:8: a size must be at least 1 byte"},
        Wrong{"memory:99999999TiB", "faults:1:8: the size is too large"},
        Wrong{"device0:lots@1ms", "faults:1:9: there is no device rule \"lots\"; did you mean \"lost\"?"},
        Wrong{"device0:lost@1m", "faults:1:15: there is no unit \"m\"; did you mean \"ms\"?"},
        Wrong{"device0:lost@1", "faults:1:15: there is no unit \"\"; did you mean \"s\"?"},
        Wrong{"device0:lost@cal3", "faults:1:14: there is no moment \"cal\"; did you mean \"call\"?"},
        Wrong{"device:lost@1ms", "faults:1:1: \"device\" needs a number, as in device0:lost@1.5ms"},
        Wrong{"device100:lost@1ms", "faults:1:1: there is no device \"100\"; a machine has at most 64"},
        Wrong{"=", "faults:1:1: a rule begins with a function, \"memory\" or \"deviceN\", not with \"=\""}));

TEST(FaultRules, Come_from_a_file_whose_name_errors_tell) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "fault_rules";
  std::filesystem::create_directories(folder);
  const std::string name = (folder / "rules.txt").string();
  std::ofstream(name) << "# two\ncuInit:1=UNKNOWN\ncuInit:2=UNKNOWM\n";
  try {
    read_fault_rules("@" + name);
    ADD_FAILURE() << "it is wrong";
  } catch (const std::invalid_argument &error) {
    EXPECT_EQ(error.what(), name + ":3:10: there is no result \"UNKNOWM\"; did you mean \"UNKNOWN\"?");
  }
  std::ofstream(name) << "cuInit:1=UNKNOWN\n";
  EXPECT_EQ(read_fault_rules("@" + name).size(), 1U);
  EXPECT_EQ(read_fault_rules("cuInit:1=UNKNOWN").size(), 1U);
  EXPECT_THROW(read_fault_rules("@" + name + ".not"), std::invalid_argument);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cushim::mock
