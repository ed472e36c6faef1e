// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cushim/detail/entry_traits_table.hpp>

#include <algorithm>
#include <map>

namespace cushim::mock {
namespace {

constexpr std::string_view kBases[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) #base,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    // clang-format on
};

using BySlot = std::array<const EntryTraits *, std::size(kBases)>;

BySlot rows_by_slot() {
  std::map<std::string_view, const EntryTraits *> by_base;
  for (const EntryTraits &row : traits::kTable) by_base.emplace(row.base, &row);
  BySlot by_slot{};
  std::ranges::transform(kBases, by_slot.begin(), [&](std::string_view base) {
    static constexpr EntryTraits kUnknown("", {});
    const auto row = by_base.find(base);
    return row != by_base.end() ? row->second : &kUnknown;
  });
  return by_slot;
}

}  // namespace

const EntryTraits &traits_of(int slot) noexcept {
  static const BySlot rows = rows_by_slot();
  return *rows[static_cast<std::size_t>(slot)];
}

const char *object_name(Object object) noexcept {
  static constexpr const char *kNames[] = {
#define CUSHIM_OBJECT(enumerator, name) name,
      CUSHIM_OBJECTS(CUSHIM_OBJECT)
#undef CUSHIM_OBJECT
  };
  return kNames[static_cast<std::size_t>(object)];
}

}  // namespace cushim::mock
