// SPDX-License-Identifier: Apache-2.0
// cushim explain: what a result of the driver or a diagnosis of cushim means, its usual causes, and
// what to do. Needs no driver and makes no driver call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.hpp"

namespace cushim::command {

struct Explanation {
  std::optional<int> code;  // of a result; a diagnosis has none
  std::string name;         // "CUDA_ERROR_ILLEGAL_ADDRESS" or "no-driver"
  std::string meaning;
  std::string causes;
  std::string advice;
};

// All results by code, then all diagnoses. One that explanations.inc leaves out has empty texts.
const std::vector<Explanation> &explanations();

// Those that a word names: 700, CUDA_ERROR_ILLEGAL_ADDRESS, illegal_address, no-driver. A word may name
// a result and a diagnosis at the same time ("unknown").
std::vector<Explanation> find_explanations(std::string_view word);

// Explains each word, or lists all there are if there is none. Exit::usage, with the words that are
// nearest, if a word names nothing.
Outcome explain(const std::vector<std::string> &words);

}  // namespace cushim::command
