// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/finding.hpp>

#include <algorithm>

namespace cushim::check {
namespace {

// Returns the symbol. Needed beside the call stack, as functions that share machine code call from the same
// address.
std::string_view symbol_in(std::string_view words) { return words.substr(0, words.find('(')); }

}  // namespace

std::string Finding::in_words() const {
  std::string words = checker + "/" + rule + ": " + what;
  if (count > 1) words += " (" + std::to_string(count) + " times)";
  words += "\n";
  for (const Call &call : calls) words += "  " + call.role + " " + call.words + "\n" + call.place.in_words();
  return words + "  " + advice + "\n";
}

void Findings::add(Finding finding) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(findings_, [&](const Finding &other) {
    return other.rule == finding.rule &&
           std::ranges::equal(other.calls, finding.calls, [](const auto &a, const auto &b) {
             return a.role == b.role && a.place == b.place && a.place.is_exact() &&
                    symbol_in(a.words) == symbol_in(b.words);
           });
  });
  if (same == findings_.end()) {
    findings_.push_back(std::move(finding));
  } else {
    same->count += finding.count;
    same->bytes += finding.bytes;
  }
}

std::vector<Finding> Findings::all() const {
  const std::lock_guard lock(mutex_);
  return findings_;
}

}  // namespace cushim::check
