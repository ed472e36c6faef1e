// SPDX-License-Identifier: Apache-2.0
// Totals of a kernel, and their text.
#include <cushim/sim/kernel_profile.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace cushim::sim {
namespace {

using ptx::AccessCounts;
using ptx::CountedSpace;

constexpr std::size_t most_lines = 3;  // of a kernel with avoidable transactions

template <class... Values>
std::string formatted(const char *format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string classes_of(const KernelTotals &sums) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sums.by_class.size(); ++i)
    if (sums.by_class[i] != 0) order.push_back(i);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return sums.by_class[i]; });
  std::string text;
  for (const std::size_t i : order)
    text.append(text.empty() ? "" : ", ")
        .append(ptx::name(static_cast<ptx::InstructionClass>(i)))
        .append(formatted(" %llu", static_cast<unsigned long long>(sums.by_class[i])));
  return text;
}

std::string text_of(CountedSpace space, const AccessCounts &counts) {
  std::string text(ptx::name(space));
  text += formatted(": %llu requests, %llu bytes read, %llu written",
                    static_cast<unsigned long long>(counts.requests),
                    static_cast<unsigned long long>(counts.read_bytes),
                    static_cast<unsigned long long>(counts.written_bytes));
  const char *const unit = space == CountedSpace::shared     ? "passes"
                           : space == CountedSpace::constant ? "addresses"
                                                             : "sectors";
  text += formatted("; %.2f %s per request, ideal %.2f", ratio(counts.transactions, counts.requests), unit,
                    ratio(counts.ideal, counts.requests));
  if (space == CountedSpace::shared && counts.transactions > counts.ideal)
    text += formatted("; %llu bank conflicts",
                      static_cast<unsigned long long>(counts.transactions - counts.ideal));
  if (counts.collisions != 0)
    text += formatted("; %llu lanes of atomics collide", static_cast<unsigned long long>(counts.collisions));
  return text;
}

std::uint64_t avoidable(const KernelProfile::Instruction &one) {
  std::uint64_t sum = 0;
  for (const AccessCounts &counts : one.counts.spaces)
    sum += counts.transactions - std::min(counts.transactions, counts.ideal);
  return sum;
}

void write_worst_lines(const KernelProfile &profile, std::ostream &to, const std::string &prefix) {
  std::vector<const KernelProfile::Instruction *> order;
  for (const KernelProfile::Instruction &one : profile.instructions)
    if (avoidable(one) != 0) order.push_back(&one);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const KernelProfile::Instruction *one) { return avoidable(*one); });
  order.resize(std::min(order.size(), most_lines));
  for (const KernelProfile::Instruction *const one : order) {
    to << prefix << "  line " << one->line;
    if (one->source_line != 0) to << " (" << one->source_file << ':' << one->source_line << ')';
    for (std::size_t i = 0; i < ptx::counted_spaces; ++i)
      if (const AccessCounts &counts = one->counts.spaces[i]; counts.transactions > counts.ideal)
        to << ": " << text_of(static_cast<CountedSpace>(i), counts);
    to << '\n';
  }
}

}  // namespace

KernelTotals totals(const KernelProfile &profile) {
  KernelTotals sums;
  for (const KernelProfile::Instruction &one : profile.instructions) {
    const ptx::InstructionCounts &counts = one.counts;
    sums.warp_instructions += counts.executions;
    sums.active_lanes += counts.active_lanes;
    sums.thread_instructions += counts.guarded_lanes;
    sums.by_class[static_cast<std::size_t>(one.kind)] += counts.guarded_lanes;
    if (one.is_branch) {
      sums.branches += counts.executions;
      sums.divergent_branches += counts.divergent;
    }
    if (one.kind == ptx::InstructionClass::barrier) sums.barriers += counts.executions;
    for (std::size_t i = 0; i < ptx::counted_spaces; ++i) sums.spaces[i] += counts.spaces[i];
  }
  return sums;
}

void write_summary(const std::vector<KernelProfile> &profiles, std::ostream &to, const std::string &prefix) {
  if (profiles.empty()) to << prefix << "no kernel was launched\n";
  for (const KernelProfile &profile : profiles) {
    to << prefix << "kernel " << profile.kernel << ": " << profile.launches
       << (profile.launches == 1 ? " launch, " : " launches, ") << profile.blocks << " blocks, "
       << profile.threads << " threads\n";
    if (profile.text == nullptr) {
      to << prefix << "  a registered function ran instead of PTX; it is not counted\n";
      continue;
    }
    const KernelTotals sums = totals(profile);
    to << prefix << "  thread instructions " << sums.thread_instructions << ": " << classes_of(sums) << '\n'
       << prefix << "  warp instructions " << sums.warp_instructions << ", "
       << formatted("%.2f", ratio(sums.active_lanes, sums.warp_instructions)) << " of 32 lanes active; "
       << sums.divergent_branches << " of " << sums.branches << " branches diverged; " << sums.barriers
       << " barriers\n";
    for (std::size_t i = 0; i < ptx::counted_spaces; ++i)
      if (sums.spaces[i].requests != 0)
        to << prefix << "  " << text_of(static_cast<CountedSpace>(i), sums.spaces[i]) << '\n';
    write_worst_lines(profile, to, prefix);
  }
}

}  // namespace cushim::sim
