// SPDX-License-Identifier: Apache-2.0
#include "check/instruction_traits.hpp"

#include "cushim/ptx/module.hpp"

namespace cushim::ptx {

std::string_view name(MemorySpace space) {
  static constexpr std::string_view names[] = {"", "global", "shared", "local"};
  return names[static_cast<std::size_t>(space)];
}

namespace execute {
namespace {

// Returns whether the dots of a mnemonic delimit this word.
bool has(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with(word) && (rest.size() == word.size() || rest[word.size()] == '.' ||
                                   rest.substr(word.size()).starts_with("::")))
      return true;
  }
  return false;
}

}  // namespace

InstructionTraits traits_of(const Mnemonic &mnemonic) {
  const std::string_view text = mnemonic.text;
  InstructionTraits traits;
  traits.releases = has(text, "release") || has(text, "acq_rel");
  traits.is_strong = traits.releases || has(text, "volatile") || has(text, "relaxed") ||
                     has(text, "acquire") || has(text, "mmio");
  const bool is_shared = has(text, "shared"), is_global = has(text, "global");
  if (is_shared != is_global) traits.space = is_shared ? MemorySpace::shared : MemorySpace::global;
  if (has(text, "local")) traits.space = MemorySpace::local;
  switch (mnemonic.opcode) {
    case Opcode::atom:
    case Opcode::red:
      traits.is_strong = traits.is_atomic = true;
      traits.ignores_value = has(text, "exch");
      break;
    case Opcode::mbarrier:  // synchronizes by its phases
      traits.is_strong = traits.releases = false;
      break;
    case Opcode::membar:
    case Opcode::fence:
      traits.is_fence = true;
      break;
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::wmma:
      traits.warps = 1;
      break;
    case Opcode::wgmma:
      traits.warps = 4;
      break;
    case Opcode::bar:
      traits.is_warp_barrier = has(text, "warp");
      traits.is_aligned = !traits.is_warp_barrier;
      break;
    case Opcode::barrier:
      traits.is_aligned = has(text, "aligned");
      break;
    default:
      break;
  }
  return traits;
}

}  // namespace execute
}  // namespace cushim::ptx
