// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

namespace cushim::ptx {
namespace {

// The depth of a function's outermost block: module, parameters, block.
constexpr std::size_t depth_of_body = 3;

constexpr std::size_t longest_number = 10;  // in digits, of a register

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

NameId Names::intern(std::string_view name) {
  std::uint32_t &slot = table_.slot(name);
  if (slot == none) {
    slot = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({name, none, none, none});
  }
  return slot;
}

void Names::close() {
  const Scope scope = scopes_.back();
  for (std::uint32_t at = scope.bindings; at != none; at = records_[at].next_in_scope)
    entries_[records_[at].name].binding = records_[at].outer;
  for (std::uint32_t at = scope.labels; at != none; at = labels_[at].next_in_scope)
    entries_[labels_[at].name].label = labels_[at].outer;
  for (std::uint32_t at = scope.ranges; at != none; at = ranges_[at].next_in_scope) {
    entries_[ranges_[at].name].range = ranges_[at].outer;
    if (ranges_[at].depth > depth_of_body) --inner_ranges_;
  }
  scopes_.pop_back();
}

void Names::bind_at(NameId name, Binding binding, std::uint32_t depth) {
  Scope &scope = scopes_[depth - 1];
  Entry &entry = entries_[name];
  records_.push_back({binding, name, depth, entry.binding, scope.bindings});
  scope.bindings = entry.binding = static_cast<std::uint32_t>(records_.size() - 1);
}

bool Names::bind(NameId name, Binding binding) {
  const auto depth = static_cast<std::uint32_t>(scopes_.size());
  const std::uint32_t head = entries_[name].binding;
  if (head != none && records_[head].depth == depth) return false;
  const RangeRecord *range = find_range(name);
  if (range != nullptr && range->depth == depth) return false;
  bind_at(name, binding, depth);
  return true;
}

bool Names::bind_label(NameId name, LabelTarget target) {
  if (label_here(name) != nullptr) return false;
  Scope &scope = scopes_.back();
  Entry &entry = entries_[name];
  labels_.push_back({target, name, static_cast<std::uint32_t>(scopes_.size()), entry.label, scope.labels});
  scope.labels = entry.label = static_cast<std::uint32_t>(labels_.size() - 1);
  return true;
}

bool Names::bind_range(std::string_view prefix, const RegisterRange &range) {
  const NameId name = intern(prefix);
  const auto depth = static_cast<std::uint32_t>(scopes_.size());
  Entry &entry = entries_[name];
  if (entry.range != none && ranges_[entry.range].depth == depth) return false;
  Scope &scope = scopes_.back();
  ranges_.push_back({range, name, depth, entry.range, scope.ranges});
  scope.ranges = entry.range = static_cast<std::uint32_t>(ranges_.size() - 1);
  if (depth > depth_of_body) ++inner_ranges_;
  return true;
}

const LabelTarget *Names::label_here(NameId name) const {
  const std::uint32_t at = entries_[name].label;
  if (at == none || labels_[at].depth != scopes_.size()) return nullptr;
  return &labels_[at].target;
}

// A prefix may itself end in a digit (%r1<5>), so every split is looked up, the shortest number first.
const Names::RangeRecord *Names::find_range(NameId name) const {
  const std::string_view text = entries_[name].text;
  std::uint64_t number = 0;
  std::uint64_t factor = 1;
  const RangeRecord *found = nullptr;
  for (std::size_t digits = 1; digits <= longest_number && digits < text.size(); ++digits, factor *= 10) {
    const char digit = text[text.size() - digits];
    if (!is_digit(digit)) break;
    number += factor * static_cast<std::uint64_t>(digit - '0');
    const NameId prefix = table_.find(text.substr(0, text.size() - digits));
    if (prefix == none || entries_[prefix].range == none) continue;
    const RangeRecord &range = ranges_[entries_[prefix].range];
    if (number < range.range.count && (found == nullptr || range.depth > found->depth)) found = &range;
  }
  return found;
}

}  // namespace cushim::ptx
