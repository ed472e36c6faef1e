// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/finding.hpp>

#include <algorithm>

namespace cushim::check {
namespace {

// Returns the symbol. Needed beside the call stack, as functions that share machine code call from the same
// address.
std::string_view symbol_in(std::string_view text) { return text.substr(0, text.find('(')); }

std::function<void(const Finding &)> &listener() {
  static auto &function = *new std::function<void(const Finding &)>;
  return function;
}

}  // namespace

void set_finding_listener(std::function<void(const Finding &)> function) { listener() = std::move(function); }

std::string Finding::to_text() const {
  std::string text = checker + "/" + rule + ": " + what;
  if (count > 1) text += " (" + std::to_string(count) + " times)";
  text += "\n";
  for (const Call &call : calls)
    text += "  " + call.role + " " + call.text + "\n" + call.call_stack.to_text();
  return text + "  " + advice + "\n";
}

void Findings::add(Finding finding) {
  if (listener()) listener()(finding);
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(findings_, [&](const Finding &other) {
    return other.rule == finding.rule &&
           std::ranges::equal(other.calls, finding.calls, [](const auto &a, const auto &b) {
             return a.role == b.role && a.call_stack == b.call_stack && a.call_stack.is_exact() &&
                    symbol_in(a.text) == symbol_in(b.text);
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
