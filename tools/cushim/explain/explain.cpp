// SPDX-License-Identifier: Apache-2.0
#include "explain/explain.hpp"

#include <cushim/load.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "common/text.hpp"

namespace cushim::command {
namespace {

struct Texts {
  std::string meaning, causes, advice;
};

const std::map<std::string, Texts> &texts_by_name() {
  static const std::map<std::string, Texts> texts{
#define CUSHIM_EXPLANATION(name, meaning, causes, advice) {name, {meaning, causes, advice}},
#include "explain/explanations.inc"
  };
  return texts;
}

Explanation make_explanation(std::optional<int> code, const std::string &name) {
  const auto found = texts_by_name().find(name);
  const Texts texts = found == texts_by_name().end() ? Texts{} : found->second;
  return {code, name, texts.meaning, texts.causes, texts.advice};
}

// Normalizes user input: ILLEGAL_ADDRESS for cuda_error_illegal_address or illegal-address.
std::string normal_form(std::string_view word) {
  std::string normal = upper_case(word);
  std::replace(normal.begin(), normal.end(), '-', '_');
  for (const std::string_view prefix : {"CUDA_ERROR_", "CUDA_"})
    if (normal.starts_with(prefix)) return normal.substr(prefix.size());
  return normal;
}

std::optional<int> as_code(std::string_view word) {
  int code = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), code);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return code;
}

// Returns suggestions for a word that names nothing: similar names, or the nearest codes.
std::vector<std::string> suggestions(std::string_view word) {
  std::vector<std::string> found;
  if (const std::optional<int> code = as_code(word)) {
    std::vector<Explanation> results;
    for (const Explanation &explanation : explanations())
      if (explanation.code) results.push_back(explanation);
    const auto distance = [&](const Explanation &e) {
      return std::pair(std::llabs(1LL * *e.code - *code), *e.code);
    };
    std::ranges::sort(results, {}, distance);
    for (std::size_t i = 0; i < 3; ++i) found.push_back(std::to_string(*results[i].code));
    return found;
  }
  std::map<std::string, std::string> spellings;
  std::vector<std::string> candidates;
  for (const Explanation &explanation : explanations()) {
    candidates.push_back(normal_form(explanation.name));
    spellings.emplace(candidates.back(), explanation.name);
  }
  for (const std::string &candidate : nearest(normal_form(word), candidates, 3))
    found.push_back(spellings.at(candidate));
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string heading(const Explanation &explanation) {
  return explanation.code ? fmt::format("{} ({})", explanation.name, *explanation.code)
                          : fmt::format("{} (cushim diagnosis)", explanation.name);
}

void append(Outcome &outcome, const Explanation &explanation) {
  outcome.text +=
      fmt::format("{}\n  meaning  {}\n  causes   {}\n  to do    {}\n", heading(explanation),
                  wrap(explanation.meaning, 11), wrap(explanation.causes, 11), wrap(explanation.advice, 11));
  Json row{{"kind", explanation.code ? "result" : "diagnosis"}};
  if (explanation.code) row["code"] = *explanation.code;
  row["name"] = explanation.name;
  row["meaning"] = explanation.meaning;
  row["causes"] = explanation.causes;
  row["advice"] = explanation.advice;
  outcome.json["explanations"].push_back(row);
}

std::string list() {
  std::string text = "Driver results:\n";
  for (const Explanation &explanation : explanations())
    if (explanation.code) text += fmt::format("  {:>3}  {}\n", *explanation.code, explanation.name);
  text += "cushim diagnoses:\n";
  for (const Explanation &explanation : explanations())
    if (!explanation.code) text += fmt::format("       {}\n", explanation.name);
  return text;
}

}  // namespace

const std::vector<Explanation> &explanations() {
  static const std::vector<Explanation> all{
#define CUSHIM_RESULT(code, name) make_explanation(code, #name),
#include <cushim/results.inc>
#define CUSHIM_DIAGNOSIS(enumerator, id) make_explanation({}, id),
      CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
  };
  return all;
}

std::vector<Explanation> find_explanations(std::string_view word) {
  std::vector<Explanation> found;
  const std::optional<int> code = as_code(word);
  const std::string normal = normal_form(word);
  for (const Explanation &explanation : explanations())
    if (normal_form(explanation.name) == normal || (code && code == explanation.code))
      found.push_back(explanation);
  // A full name has one meaning: "no-device" the diagnosis, CUDA_ERROR_NO_DEVICE the result. "unknown" alone
  // may mean either.
  const bool is_full = word.find('-') != std::string_view::npos || upper_case(word).starts_with("CUDA_");
  const auto exact = std::find_if(found.begin(), found.end(), [&](const Explanation &e) {
    return upper_case(e.name) == upper_case(word);
  });
  if (is_full && exact != found.end()) return {*exact};
  return found;
}

Outcome explain(const std::vector<std::string> &words) {
  Outcome outcome;
  outcome.json = {{"explanations", Json::array()}};
  for (const std::string &word : words) {
    const std::vector<Explanation> found = find_explanations(word);
    for (const Explanation &explanation : found) {
      if (!outcome.text.empty()) outcome.text += '\n';
      append(outcome, explanation);
    }
    if (!found.empty()) continue;
    outcome.exit = Exit::usage;
    const std::vector<std::string> instead = suggestions(word);
    if (!outcome.text.empty()) outcome.text += '\n';
    outcome.text += fmt::format("\"{}\" is not a driver result or a cushim diagnosis. Did you mean {}?\n",
                                printable(word), fmt::join(instead, ", "));
    outcome.json["unknown"].push_back({{"word", word}, {"nearest", instead}});
  }
  if (words.empty()) {
    for (const Explanation &explanation : explanations()) append(outcome, explanation);
    outcome.text = list();
  }
  return outcome;
}

}  // namespace cushim::command
