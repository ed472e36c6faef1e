// SPDX-License-Identifier: Apache-2.0
#include "replayed_entry.hpp"

#include <cushim/driver.hpp>

#include <cushim/detail/entry_traits.hpp>
#include "by_slot.hpp"
#include "created_memory.hpp"
#include "mapping.hpp"

namespace cushim::replay {
namespace {

using ArgumentKind = ReplayedEntry::Argument::Kind;
using TypeKind = trace::Type::Kind;

bool needs_another_process(std::string_view base) {
  return base.starts_with("cuIpcOpen") || base == "cuMemPoolImportPointer";
}

bool is_passed_as_recorded(TypeKind kind) {
  return kind == TypeKind::bytes || kind == TypeKind::enumeration || kind == TypeKind::real ||
         kind == TypeKind::signed_number || kind == TypeKind::unsigned_number;
}

ArgumentKind kind_of_argument(int slot, std::size_t index, const ReplayedEntry &entry) {
  const trace::Parameter &parameter = trace::row_of(slot).parameters[index];
  const mock::EntryTraits &traits = mock::traits_of(slot);
  if (index == 0 && entry.exports_handle) return ArgumentKind::exported;
  if (parameter.name == "pid") return ArgumentKind::process;
  if (buffer_of(slot, index) != nullptr) return ArgumentKind::buffer;
  if (traits.object == mock::Object::registered_memory && parameter.type->kind == TypeKind::pointer &&
      traits.begins_lifetime())
    return ArgumentKind::registered;
  return parameter.type->kind == TypeKind::address ? ArgumentKind::address : ArgumentKind::other;
}

ReplayedEntry make_entry(int slot) {
  const mock::EntryTraits &traits = mock::traits_of(slot);
  const trace::Row &row = trace::row_of(slot);
  const std::string_view base = traits.base;
  ReplayedEntry entry{
      .exports_handle = base == "cuMemExportToShareableHandle" || base == "cuMemPoolExportToShareableHandle",
      .imports_handle = base == "cuMemImportFromShareableHandle" ||
                        base == "cuMemPoolImportFromShareableHandle" || base == "cuImportExternalMemory",
      .enqueues_host_function = base == "cuLaunchHostFunc" || base == "cuStreamAddCallback",
      .adds_host_node = base == "cuGraphAddHostNode",
      .adds_node = base == "cuGraphAddMemAllocNode" || base == "cuGraphAddNode",
      .sets_parameters = base == "cuParamSetv",
      .creates_memory = may_create_memory(slot),
      .only_names_memory =
          traits.is_query || base.starts_with("cuTensorMap") || base.starts_with("cuTexRefSetAddress"),
      .has_varying_values = base == "cuMemGetInfo" || base == "cuGetProcAddress" ||
                            base == "cuGetExportTable" || base == "cuLogsCurrent",
      .polls = traits.wait == mock::EntryTraits::Wait::polls,
      .gets_context = base == "cuCtxGetCurrent",
      .is_export_table = base == "cuGetExportTable"};
  if (needs_another_process(base)) entry.why_not = "it needs an object of another process";
  if (base == "cuImportExternalSemaphore") entry.why_not = kLacksOtherInterface;
  const bool finds_part = row.parameters.size() >= 2 && row.parameters[0].type->pointee != nullptr &&
                          row.parameters[0].type->pointee->kind == TypeKind::handle &&
                          row.parameters[1].type->kind == TypeKind::handle;
  const bool is_texture =
      traits.object == mock::Object::texture_object || traits.object == mock::Object::surface_object;
  entry.changes_parts = finds_part || is_texture || traits.ends_lifetime();
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const trace::Parameter &parameter = row.parameters[i];
    const ArgumentKind kind = kind_of_argument(slot, i, entry);
    const bool is_number = kind == ArgumentKind::other && is_passed_as_recorded(parameter.type->kind);
    if (is_number || (kind == ArgumentKind::address && is_number_name(parameter.name))) continue;
    if (entry.imports_handle && i == 1 && buffer_of(slot, i) == nullptr) continue;  // replaced by its number
    entry.arguments.push_back({.kind = kind,
                               .index = static_cast<std::uint8_t>(i),
                               .word = parameter.word,
                               .parameter = &parameter,
                               .buffer = buffer_of(slot, i)});
  }
  return entry;
}

}  // namespace

const ReplayedEntry &replayed_entry(int slot) { return trace::value_by_slot<make_entry>(slot); }

}  // namespace cushim::replay
