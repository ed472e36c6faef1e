// SPDX-License-Identifier: Apache-2.0
#include "core/lifetime_effect.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/watch.hpp"

namespace cushim::check {
namespace {

struct MemoryEffect {
  std::string_view base;
  LifetimeEffect::Act act;
  const char *noun;
};
using enum LifetimeEffect::Act;
constexpr MemoryEffect kMemory[] = {
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

// Returns whether entry points of this name create the handle that they write.
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

LifetimeEffect make_effect(int slot) {
  using Type = Argument::Type;
  const std::string_view base = cushim_entry(slot)->base;
  const std::span<const Argument> parameters = parameters_of(slot);
  LifetimeEffect effect{.changes_current = changes_current(base)};
  if (base == "cuDevicePrimaryCtxRetain") effect.act = retains;
  if (base == "cuDevicePrimaryCtxRelease") effect.act = releases;
  if (base == "cuDevicePrimaryCtxReset") effect.act = resets;
  if (effect.act != none) return effect;
  // Ignores the first ABI, whose device addresses have 32 bits: no supported device uses it.
  const bool has_address = std::ranges::any_of(
      parameters.first(std::min<std::size_t>(1, parameters.size())), [](const Argument &parameter) {
        return parameter.type == Type::address || parameter.type == Type::address_out ||
               parameter.type == Type::pointer || parameter.type == Type::pointer_out;
      });
  if (const auto memory = std::ranges::find(kMemory, base, &MemoryEffect::base);
      memory != std::end(kMemory) && has_address) {
    effect.act = memory->act;
    effect.memory = memory->noun;
    return effect;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == Kind::none) continue;
    effect.subject = static_cast<std::uint8_t>(i);
    if (parameters[i].type == Type::handle_out && is_maker(base)) effect.act = makes;
    if (parameters[i].type == Type::handle && is_ender(base)) effect.act = ends;
    break;
  }
  return effect;
}

}  // namespace

const LifetimeEffect &lifetime_effect_of(int slot) {
  static const std::vector<LifetimeEffect> &deeds = *new std::vector<LifetimeEffect>([] {
    std::vector<LifetimeEffect> all;
    for (int row = 0; row < CUSHIM_ENTRY_COUNT; ++row) all.push_back(make_effect(row));
    return all;
  }());
  return deeds[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::check
