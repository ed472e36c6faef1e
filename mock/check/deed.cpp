// SPDX-License-Identifier: Apache-2.0
#include "deed.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "watch.hpp"

namespace cushim::check {
namespace {

struct MemoryDeed {
  std::string_view base;
  Deed::Act act;
  const char *noun;
};
using enum Deed::Act;
constexpr MemoryDeed kMemory[] = {
    {"cuIpcCloseMemHandle", ends, "memory of another process"},
    {"cuIpcOpenMemHandle", opens, "memory of another process"},
    {"cuMemAlloc", makes, "device memory"},
    {"cuMemAllocAsync", makes, "stream-ordered memory"},
    {"cuMemAllocFromPoolAsync", makes, "stream-ordered memory"},
    {"cuMemAllocHost", makes, "pinned memory"},
    {"cuMemAllocManaged", makes, "managed memory"},
    {"cuMemAllocPitch", makes, "device memory"},
    {"cuMemFree", ends, "memory"},
    {"cuMemFreeAsync", ends, "memory"},
    {"cuMemFreeHost", ends, "memory"},
    {"cuMemHostAlloc", makes, "pinned memory"},
    {"cuMemHostRegister", makes, "registered memory"},
    {"cuMemHostUnregister", ends, "memory"},
    {"cuMemPoolImportPointer", makes, "stream-ordered memory of another process"},
};

// Rows that are named so make what they write a handle of.
bool is_maker(std::string_view base) {
  return std::ranges::any_of(std::array{"Create", "Load", "OpenEvent", "ImportFrom"},
                             [&](const char *word) { return base.find(word) != base.npos; });
}
bool is_ender(std::string_view base) {
  return base.ends_with("Destroy") || base.ends_with("Unload") || base == "cuCtxDetach";
}
bool changes_current(std::string_view base) {
  return base.find("CtxCreate") != base.npos || base == "cuCtxDestroy" || base == "cuCtxDetach" ||
         base == "cuCtxAttach" || base == "cuCtxPopCurrent" || base == "cuCtxPushCurrent" ||
         base == "cuCtxSetCurrent";
}

Deed make_deed(int slot) {
  using Type = Argument::Type;
  const std::string_view base = cushim_entry(slot)->base;
  const std::span<const Argument> parameters = parameters_of(slot);
  Deed deed{.changes_current = changes_current(base)};
  if (base == "cuDevicePrimaryCtxRetain") deed.act = retains;
  if (base == "cuDevicePrimaryCtxRelease") deed.act = releases;
  if (base == "cuDevicePrimaryCtxReset") deed.act = resets;
  if (deed.act != none) return deed;
  // The first ABI has addresses of 32 bits, for which no device is left.
  const bool has_address = std::ranges::any_of(
      parameters.first(std::min<std::size_t>(1, parameters.size())), [](const Argument &parameter) {
        return parameter.type == Type::address || parameter.type == Type::address_out ||
               parameter.type == Type::pointer || parameter.type == Type::pointer_out;
      });
  if (const auto memory = std::ranges::find(kMemory, base, &MemoryDeed::base);
      memory != std::end(kMemory) && has_address) {
    deed.act = memory->act;
    deed.memory = memory->noun;
    return deed;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == Kind::none) continue;
    deed.subject = static_cast<std::uint8_t>(i);
    if (parameters[i].type == Type::handle_out && is_maker(base)) deed.act = makes;
    if (parameters[i].type == Type::handle && is_ender(base)) deed.act = ends;
    break;
  }
  return deed;
}

}  // namespace

const Deed &deed_of(int slot) {
  static const std::vector<Deed> &deeds = *new std::vector<Deed>([] {
    std::vector<Deed> all;
    for (int row = 0; row < CUSHIM_ENTRY_COUNT; ++row) all.push_back(make_deed(row));
    return all;
  }());
  return deeds[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::check
