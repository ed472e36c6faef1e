// SPDX-License-Identifier: Apache-2.0
#include "type.hpp"

#include <cushim/mock/signature.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "trace_format.hpp"

namespace cushim::trace {
namespace {

using Kind = Type::Kind;

void fill_fields() {
#define CUSHIM_STRUCT(type)
#define CUSHIM_FIELD(type, field) \
  fields_of<type>.push_back(      \
      {#field, offsetof(type, field), &type_of<std::remove_all_extents_t<decltype(type::field)>>()});
#include "fields.inc"
}

std::size_t most_value_words(const Type &type) {
  if (type.kind == Kind::text || type.kind == Kind::text_out) return 1 + words_for(kMostText);
  if (type.pointee == nullptr) return 0;
  // A pointer to a text is copied with the text.
  return 1 + (type.pointee->kind == Kind::text ? words_for(kMostText) : words_for(type.pointee->size));
}

// Returns whether one of the names is that of a number of elements.
bool names_count(std::string_view names) {
  for (const std::string_view part : {"num", "Num", "ount", "nb", "Rank"})
    if (names.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_number(const Type &type) {
  return type.kind == Kind::signed_number || type.kind == Kind::unsigned_number;
}

Row make_row(std::string_view names, std::initializer_list<const Type *> types) {
  Row row;
  row.has_arrays = names_count(names);
  names.remove_prefix(1);  // "(hEvent, hStream)"
  for (const Type *const *next = types.begin(); next != types.end(); ++next) {
    const bool has_length = next + 1 != types.end() && is_number(*next[1]);
    // Without a length, what is behind a char * is not text. Only the kernel knows how many parameters there
    // are.
    const bool is_opaque = ((*next)->kind == Kind::text_out && !has_length) ||
                           names.starts_with("kernelParams") || names.starts_with("extra");
    const Type *const type = is_opaque ? &type_of<void *>() : *next;
    const std::size_t length = names.find_first_of(",)");
    row.parameters.push_back({names.substr(0, length), type, row.words});
    names.remove_prefix(std::min(names.size(), length + 2));
    row.words += words_for(type->size);
    row.most_values += most_value_words(*type);
  }
  return row;
}

template <class Signature>
struct TypesOf;
template <class... Arguments>
struct TypesOf<CUresult(Arguments...)> {
  static Row row(const char *names) { return make_row(names, {&type_of<Arguments>()...}); }
};

std::vector<Row> make_rows() {
  fill_fields();
  return {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  TypesOf<CUresult parameters>::row(#arguments),
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) Row{},
#include <cushim/entry_points.inc>
      // clang-format on
  };
}

}  // namespace

const Row &row_of(int slot) {
  static const std::vector<Row> &rows = *new std::vector<Row>(make_rows());
  return rows[static_cast<std::size_t>(slot)];
}

std::string_view enumerator_name(std::string_view type, std::int64_t value) {
  static const auto &names = *new std::map<std::pair<std::string_view, std::int64_t>, std::string_view>{
#define CUSHIM_ENUM(type)
#define CUSHIM_ENUMERATOR(type, value, name) {{#type, value}, #name},
#include "enumerators.inc"
  };
  const auto found = names.find({type, value});
  return found != names.end() ? found->second : std::string_view();
}

}  // namespace cushim::trace
