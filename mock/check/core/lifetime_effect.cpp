// SPDX-License-Identifier: Apache-2.0
#include "core/lifetime_effect.hpp"

#include <vector>

#include <cushim/detail/entry_traits.hpp>

#include "core/watch.hpp"

namespace cushim::check {
namespace {

using mock::EntryTraits;
using Act = LifetimeEffect::Act;

// Ignores the first ABI, whose device addresses have 32 bits: no supported device uses it.
bool is_address(const Argument &parameter) {
  using Type = Argument::Type;
  return parameter.type == Type::address || parameter.type == Type::address_out ||
         parameter.type == Type::pointer || parameter.type == Type::pointer_out;
}

Act act_on_primary_context(EntryTraits::Lifetime lifetime) {
  if (lifetime == EntryTraits::Lifetime::retains) return Act::retains;
  return lifetime == EntryTraits::Lifetime::releases ? Act::releases : Act::resets;
}

// A reference that cuCtxAttach adds is not tracked; of opened memory and of physical memory, the registry
// counts the references.
Act act_on_object(const EntryTraits &traits) {
  switch (traits.lifetime) {
    case EntryTraits::Lifetime::creates:
      return Act::makes;
    case EntryTraits::Lifetime::opens:
      return Act::opens;
    case EntryTraits::Lifetime::retains:
      return has_integer_handle(traits.object) ? Act::opens : Act::none;
    case EntryTraits::Lifetime::releases:
    case EntryTraits::Lifetime::destroys:
      return Act::ends;
    default:
      return Act::none;
  }
}

LifetimeEffect make_effect(int slot) {
  const EntryTraits &traits = mock::traits_of(slot);
  const std::span<const Argument> parameters = parameters_of(slot);
  LifetimeEffect effect{.changes_current = traits.changes_current};
  if (traits.lifetime == EntryTraits::Lifetime::none || parameters.empty()) return effect;
  effect.subject = static_cast<std::uint8_t>(traits.subject);
  const Argument &subject = parameters[effect.subject];
  if (traits.object == mock::Object::primary_context) {
    effect.act = act_on_primary_context(traits.lifetime);
  } else if (mock::is_memory(traits.object) && is_address(subject)) {
    effect.act = act_on_object(traits);
    effect.memory = mock::object_name(traits.object);
  } else if (subject.kind == traits.object || has_integer_handle(traits.object)) {
    effect.act = act_on_object(traits);
    effect.kind = traits.object;
  }
  return effect;
}

}  // namespace

const LifetimeEffect &lifetime_effect_of(int slot) {
  static const std::vector<LifetimeEffect> &effects = *new std::vector<LifetimeEffect>([] {
    std::vector<LifetimeEffect> all;
    for (int row = 0; row < CUSHIM_ENTRY_COUNT; ++row) all.push_back(make_effect(row));
    return all;
  }());
  return effects[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::check
