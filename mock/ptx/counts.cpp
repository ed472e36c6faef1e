// SPDX-License-Identifier: Apache-2.0
#include "cushim/ptx/counts.hpp"

#include "execute/code.hpp"

namespace cushim::ptx {

std::string_view name(InstructionClass kind) {
  static constexpr std::string_view names[] = {"integer",    "f32",    "f64",     "half",    "special",
                                               "conversion", "move",   "compare", "control", "parameter",
                                               "load",       "store",  "atomic",  "copy",    "barrier",
                                               "warp",       "matrix", "texture", "other"};
  static_assert(std::size(names) == instruction_classes);
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(CountedSpace space) {
  static constexpr std::string_view names[] = {"global", "shared", "local", "constant"};
  static_assert(std::size(names) == counted_spaces);
  return names[static_cast<std::size_t>(space)];
}

namespace {

// Adds these members of a structure.
template <class Counts, class... Members>
void add(Counts &to, const Counts &from, Members... members) {
  ((to.*members += from.*members), ...);
}

}  // namespace

AccessCounts &AccessCounts::operator+=(const AccessCounts &other) {
  using Counts = AccessCounts;
  add(*this, other, &Counts::requests, &Counts::lanes, &Counts::read_bytes, &Counts::written_bytes,
      &Counts::transactions, &Counts::ideal, &Counts::collisions);
  return *this;
}

InstructionCounts &InstructionCounts::operator+=(const InstructionCounts &other) {
  using Counts = InstructionCounts;
  add(*this, other, &Counts::executions, &Counts::active_lanes, &Counts::guarded_lanes, &Counts::divergent);
  for (std::size_t i = 0; i < counted_spaces; ++i) spaces[i] += other.spaces[i];
  return *this;
}

SampledCosts &SampledCosts::operator+=(const SampledCosts &other) {
  using Costs = SampledCosts;
  add(*this, other, &Costs::blocks, &Costs::warps, &Costs::path_in_l2, &Costs::path_in_memory,
      &Costs::read_sectors, &Costs::written_sectors, &Costs::read_bursts, &Costs::atomic_cycles,
      &Costs::barriers);
  for (std::size_t i = 0; i < pipes; ++i) pipe_cycles[i] += other.pipe_cycles[i];
  return *this;
}

std::vector<InstructionInfo> instructions(const Program &program) {
  std::vector<InstructionInfo> list;
  const Code &code = program.code();
  for (const execute::FunctionCode &function : code.functions)
    for (const execute::InstructionSource &source : function.sources) {
      InstructionInfo info{.function = function.index,
                           .line = source.line,
                           .kind = source.kind,
                           .is_branch = source.is_branch};
      if (const auto file = code.files.find(source.file);
          source.source_line != 0 && file != code.files.end()) {
        info.source_file = file->second;
        info.source_line = source.source_line;
      }
      list.push_back(std::move(info));
    }
  return list;
}

}  // namespace cushim::ptx
