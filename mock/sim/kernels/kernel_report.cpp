// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_report.hpp"

#include <cstdio>
#include <string_view>

#include <cushim/detail/reference.hpp>
#include "machine/system.hpp"

namespace cushim::sim {
namespace {

using cushim::detail::hexadecimal;

std::string to_text(const ptx::Dim3 &index) {
  char text[48];
  std::snprintf(text, sizeof text, "(%u, %u, %u)", unsigned{index.x}, unsigned{index.y}, unsigned{index.z});
  return text;
}

std::string thread_of(const ptx::ThreadPosition &at) {
  return "thread " + to_text(at.thread) + " of block " + to_text(at.block);
}

// Returns nothing for a thread that is at no line.
std::string line_of(const ptx::ThreadPosition &at) {
  if (at.line == 0) return {};
  std::string text = "line " + std::to_string(at.line) + " of the PTX";
  if (at.source_line != 0) text += " (" + at.source_file + ":" + std::to_string(at.source_line) + ")";
  return text;
}

// Appends `before` and the allocation that is nearest to an address. Returns it; null if there is none.
const Allocation *append_nearest_allocation(System &system, std::uint64_t address, std::string_view before,
                                            std::string &text) {
  const Allocation *nearest = nullptr;
  const auto distance = [address](const Allocation &one) {
    return address < one.base ? one.base - address : address - one.base;
  };
  system.memory.for_each([&](const Allocation &one) {
    if (nearest == nullptr || distance(one) < distance(*nearest)) nearest = &one;
  });
  if (nearest == nullptr) return nullptr;
  text += before;
  text += "nearest allocation: " + std::to_string(nearest->size) + " bytes at " + hexadecimal(nearest->base);
  if (address >= nearest->end())
    text += ", which ends " + std::to_string(address - nearest->end()) + " bytes before it";
  else if (address < nearest->base)
    text += ", which begins " + std::to_string(nearest->base - address) + " bytes behind it";
  return nearest;
}

}  // namespace

std::string to_text(System &system, const ptx::Fault &fault) {
  std::string text = "kernel " + fault.kernel + ": " + std::string(ptx::name(fault.kind));
  const bool has_address =
      fault.kind == ptx::FaultKind::illegal_address || fault.kind == ptx::FaultKind::misaligned_address;
  if (has_address) text.append(" ").append(hexadecimal(fault.address));
  text.append(", ").append(thread_of(fault)).append(", ").append(line_of(fault));
  if (!fault.message.empty())
    return text.append(": ").append(fault.message);  // the address is a handle or a coordinate
  if (!has_address) return text;
  append_nearest_allocation(system, fault.address, "\n  ", text);
  return text;
}

mock::KernelDefect to_defect(System &system, const std::string &kernel, const ptx::KernelFinding &finding) {
  mock::KernelDefect defect;
  defect.check = static_cast<mock::KernelCheck>(finding.check);
  static_assert(static_cast<int>(mock::KernelCheck::barriers) == static_cast<int>(ptx::Check::barriers));
  defect.rule = finding.rule;
  defect.what = "kernel " + kernel + ": " + finding.what;
  if (finding.space == ptx::MemorySpace::global) {
    const Memory::FreedRange *freed = nullptr;
    if (finding.rule == "out-of-bounds") freed = system.memory.find_freed(finding.address);
    if (freed != nullptr) {
      defect.rule = "use-after-free";
      defect.what +=
          "; freed allocation: " + std::to_string(freed->size) + " bytes at " + hexadecimal(freed->base);
      defect.allocation = freed->base;
      defect.allocation_bytes = freed->size;
    } else if (const Allocation *const nearest =
                   append_nearest_allocation(system, finding.address, "; ", defect.what)) {
      defect.allocation = nearest->base;
      defect.allocation_bytes = nearest->size;
    }
  }
  for (const auto &[role, at] : finding.acts) {
    const std::string line = line_of(at);
    defect.acts.emplace_back(role, (line.empty() ? "" : line + ", ") + thread_of(at));
  }
  defect.count = finding.count;
  defect.bytes = finding.bytes;
  return defect;
}

}  // namespace cushim::sim
