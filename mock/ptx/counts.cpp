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

AccessCounts &AccessCounts::operator+=(const AccessCounts &other) {
  requests += other.requests;
  lanes += other.lanes;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  transactions += other.transactions;
  ideal += other.ideal;
  collisions += other.collisions;
  return *this;
}

InstructionCounts &InstructionCounts::operator+=(const InstructionCounts &other) {
  executions += other.executions;
  active_lanes += other.active_lanes;
  guarded_lanes += other.guarded_lanes;
  divergent += other.divergent;
  for (std::size_t i = 0; i < counted_spaces; ++i) spaces[i] += other.spaces[i];
  return *this;
}

SampledCosts &SampledCosts::operator+=(const SampledCosts &other) {
  blocks += other.blocks;
  warps += other.warps;
  for (std::size_t i = 0; i < pipes; ++i) pipe_cycles[i] += other.pipe_cycles[i];
  path_in_l2 += other.path_in_l2;
  path_in_memory += other.path_in_memory;
  read_sectors += other.read_sectors;
  written_sectors += other.written_sectors;
  read_bursts += other.read_bursts;
  atomic_cycles += other.atomic_cycles;
  barriers += other.barriers;
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
