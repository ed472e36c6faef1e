// SPDX-License-Identifier: Apache-2.0
// cushim explain: the meaning of a driver result or a cushim diagnosis, its usual causes, and how to fix it.
// Needs no driver and makes no driver call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct Explanation {
  std::optional<int> code;  // of a result; nullopt for a diagnosis
  std::string name;         // "CUDA_ERROR_ILLEGAL_ADDRESS" or "no-driver"
  std::string meaning;
  std::string causes;
  std::string advice;
};

// Returns all results by code, then all diagnoses. Those missing from explanations.inc have empty texts.
const std::vector<Explanation> &explanations();

// Returns the explanations that a word names: 700, CUDA_ERROR_ILLEGAL_ADDRESS, illegal_address, no-driver. A
// word may name both a result and a diagnosis ("unknown").
std::vector<Explanation> find_explanations(std::string_view word);

// Explains each word, or lists all explanations if there are no words. Exit::usage with suggestions if a word
// names nothing.
Outcome explain(const std::vector<std::string> &words);

// Adds the verb explain.
Verb add_explain(CLI::App &app);

}  // namespace cushim::command
