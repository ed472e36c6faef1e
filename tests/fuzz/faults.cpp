// SPDX-License-Identifier: Apache-2.0
// Fuzzes the parser of fault rules (docs/guide/faults.md).
#include <cushim/faults/fault_rules.hpp>

#include <stdexcept>

#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace cushim::mock;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    for (const FaultRule &rule : parse_fault_rules(text, "rules")) {
      fuzz::promise(!rule.text.empty() && text.find(rule.text) != text.npos, "a rule is as it was written");
      fuzz::promise(rule.line >= 1 && rule.column >= 1, "places count from 1");
      if (const auto *const fault = std::get_if<CallFault>(&rule.what)) {
        fuzz::promise(!fault->slots.empty() && fault->result != CUDA_SUCCESS, "calls fail");
        for (const int slot : fault->slots) fuzz::promise(cushim_entry(slot) != nullptr, "slots are rows");
      }
      fuzz::promise(parse_fault_rules(rule.text).size() == 1, "a rule can be read again");
    }
  } catch (const std::invalid_argument &refusal) {
    fuzz::promise(std::string_view(refusal.what()).starts_with("rules:"), "an error tells the place");
  }
  return 0;
}
