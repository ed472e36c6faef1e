// SPDX-License-Identifier: Apache-2.0
#include "explain/explain.hpp"

#include <cushim/load.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/error.hpp>

#include <set>

#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> names(const std::vector<Explanation> &found) {
  std::vector<std::string> list;
  for (const Explanation &explanation : found) list.push_back(explanation.name);
  return list;
}

TEST(Explain, Every_result_and_every_diagnosis_has_a_meaning_causes_and_advice) {
  std::set<std::string> explained;
  for (const Explanation &explanation : explanations()) {
    EXPECT_THAT(explanation.meaning, Not(IsEmpty())) << explanation.name;
    EXPECT_THAT(explanation.causes, Not(IsEmpty())) << explanation.name;
    EXPECT_THAT(explanation.advice, Not(IsEmpty())) << explanation.name;
    explained.insert(explanation.name);
  }
#define CUSHIM_RESULT(code, name) EXPECT_TRUE(explained.count(#name)) << #name;
#include <cushim/results.inc>
#define CUSHIM_DIAGNOSIS(enumerator, id) EXPECT_TRUE(explained.count(id)) << id;
  CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
}

TEST(Explain, Every_text_belongs_to_one_result_or_diagnosis) {
  std::set<std::string> known;
  for (const Explanation &explanation : explanations()) known.insert(explanation.name);
  std::set<std::string> written;
#define CUSHIM_EXPLANATION(name, meaning, causes, advice)    \
  EXPECT_TRUE(known.count(name)) << name << " is not known"; \
  EXPECT_TRUE(written.insert(name).second) << name << " is twice in explanations.inc";
#include "explain/explanations.inc"
}

TEST(Explain, A_result_is_found_by_code_by_name_and_by_parts_of_its_name_in_any_case) {
  for (const char *word : {"700", "CUDA_ERROR_ILLEGAL_ADDRESS", "cuda_error_illegal_address",
                           "ILLEGAL_ADDRESS", "illegal_address", "illegal-address"})
    EXPECT_THAT(names(find_explanations(word)), ElementsAre("CUDA_ERROR_ILLEGAL_ADDRESS")) << word;
  EXPECT_THAT(names(find_explanations("0")), ElementsAre("CUDA_SUCCESS"));
  EXPECT_THAT(names(find_explanations("success")), ElementsAre("CUDA_SUCCESS"));
}

TEST(Explain, A_diagnosis_is_found_by_its_id) {
#define CUSHIM_DIAGNOSIS(enumerator, id) \
  EXPECT_THAT(names(find_explanations(id)), testing::Contains(std::string(id)));
  CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
}

TEST(Explain, A_word_that_is_both_explains_both_and_a_full_name_one) {
  EXPECT_THAT(names(find_explanations("unknown")), ElementsAre("CUDA_ERROR_UNKNOWN", "unknown"));
  EXPECT_THAT(names(find_explanations("no_device")), ElementsAre("CUDA_ERROR_NO_DEVICE", "no-device"));
  EXPECT_THAT(names(find_explanations("no-device")), ElementsAre("no-device"));
  EXPECT_THAT(names(find_explanations("CUDA_ERROR_NO_DEVICE")), ElementsAre("CUDA_ERROR_NO_DEVICE"));
}

TEST(Explain, A_word_that_is_similar_to_a_name_or_code_is_not_found) {
  for (const char *word : {"", "illegal", "7000", "700x", " 700", "cuda_error_"})
    EXPECT_THAT(find_explanations(word), IsEmpty()) << word;
}

TEST(Explain, Exceptions_give_the_same_advice) {
  for (const CUresult result : {CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT})
    EXPECT_EQ(find_explanations(name_of(result)).at(0).advice, detail::advice_on(result));
}

TEST(Explain, The_command_prints_meaning_causes_and_advice) {
  const Finished explained = run({"explain", "700"});
  EXPECT_EQ(explained.exit, 0);
  EXPECT_THAT(explained.out, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)\n  meaning  "));
  EXPECT_THAT(explained.out, HasSubstr("\n  causes   "));
  EXPECT_THAT(explained.out, HasSubstr("\n  to do    "));
}

TEST(Explain, The_command_needs_no_driver) {
  EXPECT_EQ(run({"explain", "no-driver"}, {"CUSHIM_LIBRARY=none"}).exit, 0);
}

TEST(Explain, An_unknown_word_is_a_usage_error_that_names_the_nearest) {
  const Finished explained = run({"explain", "illegl_adress"});
  EXPECT_EQ(explained.exit, 2);
  EXPECT_EQ(explained.out, "");
  EXPECT_THAT(explained.error, HasSubstr("\"illegl_adress\""));
  EXPECT_THAT(explained.error, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST(Explain, An_unknown_code_is_a_usage_error_that_names_the_nearest_codes) {
  const Outcome outcome = explain({"706"});
  EXPECT_EQ(outcome.exit, Exit::usage);
  EXPECT_EQ(outcome.json["unknown"][0]["nearest"], Json({"705", "704", "708"}));
}

TEST(Explain, Json_has_kind_code_name_meaning_causes_and_advice) {
  const nlohmann::json json = run({"explain", "700", "no-driver", "--json"}).json();
  ASSERT_EQ(json["explanations"].size(), 2u);
  const nlohmann::json result = json["explanations"][0];
  EXPECT_EQ(result["kind"], "result");
  EXPECT_EQ(result["code"], 700);
  EXPECT_EQ(result["name"], "CUDA_ERROR_ILLEGAL_ADDRESS");
  const nlohmann::json diagnosis = json["explanations"][1];
  EXPECT_EQ(diagnosis["kind"], "diagnosis");
  EXPECT_FALSE(diagnosis.contains("code"));
  EXPECT_EQ(diagnosis["name"], "no-driver");
  for (const nlohmann::json &explanation : json["explanations"])
    for (const char *key : {"meaning", "causes", "advice"}) EXPECT_TRUE(explanation[key].is_string()) << key;
}

TEST(Explain, Json_lists_unknown_words_too) {
  const Finished explained = run({"explain", "no-drivr", "--json"});
  EXPECT_EQ(explained.exit, 2);
  EXPECT_EQ(explained.json()["unknown"][0]["word"], "no-drivr");
  EXPECT_EQ(explained.json()["unknown"][0]["nearest"][0], "no-driver");
}

TEST(Explain, Without_a_word_everything_is_listed) {
  const Finished listed = run({"explain"});
  EXPECT_EQ(listed.exit, 0);
  for (const Explanation &explanation : explanations())
    EXPECT_THAT(listed.out, HasSubstr(explanation.name + "\n"));
  EXPECT_EQ(run({"explain", "--json"}).json()["explanations"].size(), explanations().size());
}

}  // namespace
}  // namespace cushim::command
