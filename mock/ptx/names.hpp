// SPDX-License-Identifier: Apache-2.0
// Scopes: the meaning of each name at the current position of the parser.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <cushim/ptx/module.hpp>

#include "name_table.hpp"

namespace cushim::ptx {

using NameId = std::uint32_t;

enum class BindingKind : std::uint8_t { none, reg, symbol };

struct Binding {
  BindingKind kind = BindingKind::none;
  SymbolKind symbol_kind = SymbolKind::none;
  std::uint32_t index = 0;
};

// The entity that a label names.
struct LabelTarget {
  OperandKind kind = OperandKind::label;  // label, branch_targets, call_targets or prototype
  std::uint32_t index = 0;
};

// A range of registers: %r<5> declares %r0 to %r4, each of which is created at its first use.
struct RegisterRange {
  std::uint64_t count = 0;
  Type type = Type::none;
  std::uint8_t vector = 1;
};

class Names {
 public:
  NameId intern(std::string_view name);
  std::string_view text(NameId name) const { return entries_[name].text; }

  void open() { scopes_.push_back({}); }
  void close();
  std::size_t depth() const { return scopes_.size(); }

  // Return false if the innermost scope has the name already.
  bool bind(NameId name, Binding binding);
  bool bind_label(NameId name, LabelTarget target);
  bool bind_range(std::string_view prefix, const RegisterRange &range);

  // Returns BindingKind::none if the name is not bound. Creates a register of a range at its first use by
  // calling `make`: (name, range) -> register number.
  template <typename Make>
  Binding find(NameId name, Make make) {
    const std::uint32_t head = entries_[name].binding;
    if (head != none && inner_ranges_ == 0) return records_[head].binding;
    const std::size_t depth = head == none ? 0 : records_[head].depth;
    const RangeRecord *range = find_range(name);
    if (range != nullptr && range->depth > depth) {
      const Binding made{BindingKind::reg, SymbolKind::none, make(entries_[name].text, range->range)};
      bind_at(name, made, range->depth);
      return made;
    }
    return head == none ? Binding{} : records_[head].binding;
  }

  // Returns the label that the innermost scope itself declares; null if it declares none of that name.
  const LabelTarget *label_here(NameId name) const;

 private:
  static constexpr std::uint32_t none = NameTable::none;

  struct Entry {
    std::string_view text;
    std::uint32_t binding = none;  // index into records_
    std::uint32_t label = none;    // index into labels_
    std::uint32_t range = none;    // index into ranges_; this name is the prefix of that range
  };
  struct Record {
    Binding binding;
    NameId name;
    std::uint32_t depth;
    std::uint32_t outer;  // record of the same name in the enclosing scopes
    std::uint32_t next_in_scope;
  };
  struct LabelRecord {
    LabelTarget target;
    NameId name;
    std::uint32_t depth;
    std::uint32_t outer;
    std::uint32_t next_in_scope;
  };
  struct RangeRecord {
    RegisterRange range;
    NameId name;
    std::uint32_t depth;
    std::uint32_t outer;
    std::uint32_t next_in_scope;
  };
  struct Scope {
    std::uint32_t bindings = none;
    std::uint32_t labels = none;
    std::uint32_t ranges = none;
  };

  const RangeRecord *find_range(NameId name) const;
  void bind_at(NameId name, Binding binding, std::uint32_t depth);

  NameTable table_;
  std::vector<Entry> entries_;
  std::vector<Record> records_;
  std::vector<LabelRecord> labels_;
  std::vector<RangeRecord> ranges_;
  std::vector<Scope> scopes_;
  std::size_t inner_ranges_ = 0;  // number of ranges declared deeper than a function's outermost block
};

}  // namespace cushim::ptx
