// SPDX-License-Identifier: Apache-2.0
// Costs of memory, fitted to an H200: docs/guide/kernel_time.md.
#include <cmath>

#include "execute/request.hpp"

namespace cushim::ptx::execute {
namespace {

// Cycles until the result of a read is there: of shared memory, the two caches, and memory.
constexpr std::uint32_t shared_latency = 23, l1_latency = 38, l2_latency = 282, memory_latency = 661;
constexpr std::uint64_t line_bytes = 128;  // of the L1 cache
constexpr std::uint64_t burst_bytes = 64;  // that memory transfers at least
// Cycles of a multiprocessor for a line of a request.
constexpr double tag = 0.25, missed_line = 1.04, written_line = 4, whole_written_line = 2;

// Rounds to a number whose sums are exact, whatever their order is.
double summable(double cycles) { return std::round(cycles * 1024) / 1024; }

void extend(Extent &extent, std::uint64_t begin, std::uint64_t end, bool is_atomic) {
  extent.begin = std::min(extent.begin, begin);
  extent.end = std::max(extent.end, end);
  extent.is_atomic = is_atomic;
}

// Returns the cycles that a part of the L2 cache takes for an atomic request: lanes with one address take
// turns, others of the sector do not.
double atomic_cycles(const Request &request) {
  std::uint64_t sorted[lanes];
  unsigned count = 0;
  request.each([&](unsigned, std::uint64_t address) { sorted[count++] = address; });
  std::sort(sorted, sorted + count);
  constexpr double sector = 0.75, turn = 1.45;
  std::uint32_t most = 0, same = 0;
  double cycles = 0;
  for (unsigned i = 0; i < count; ++i) {
    const bool is_new_sector = i == 0 || sorted[i] / sector_bytes != sorted[i - 1] / sector_bytes;
    same = i != 0 && sorted[i] == sorted[i - 1] ? same + 1 : 1;
    if (is_new_sector) {
      cycles += sector + turn * (most != 0 ? most - 1 : 0);
      most = 0;
    }
    most = std::max(most, same);
  }
  return cycles + turn * (most - 1);
}

}  // namespace

void cost_request(Warp &warp, const Request &request, const CountedAccess &access, CountedSpace space) {
  WarpState &w = state(warp);
  if (!w.block->is_sampled || request.mask == 0) return;
  const InstructionCost &cost = w.block->code->costs[access.instruction];
  SampledCosts &sum = w.worker->costs;
  double &cycles = sum.pipe_cycles[static_cast<std::size_t>(Pipe::memory)];
  const bool is_atomic = access.reads && access.writes;
  if (space == CountedSpace::shared) {
    AccessCounts passes;
    count_passes(request, !access.writes, passes);
    const auto turns = static_cast<std::uint32_t>(passes.transactions);
    cycles += turns;
    return w.costs.wait_for_memory(cost, turns, shared_latency - 1, shared_latency - 1);
  }
  if (space == CountedSpace::constant) return w.costs.wait_for_memory(cost, 1, l1_latency, l1_latency);
  Distinct sectors, found_lines;
  request.each([&](unsigned lane, std::uint64_t address) {
    if (space == CountedSpace::local) address = local_window + (address / 4 * lanes + lane) * 4;
    sectors.add(address / sector_bytes);
    found_lines.add(address / line_bytes);
    if (space == CountedSpace::global)
      extend(w.worker->extents[access.instruction], address, address + request.bytes, is_atomic);
  });
  sectors.finish();
  found_lines.finish();
  const double all_lines = found_lines.count;
  if (is_atomic) {
    sum.atomic_cycles += summable(atomic_cycles(request));
    cycles += all_lines;
    return w.costs.wait_for_memory(cost, found_lines.count, l2_latency, l2_latency);
  }
  if (access.writes) {
    const auto active = static_cast<unsigned>(std::popcount(request.mask));
    const bool is_whole = std::uint64_t{active} * request.bytes >= found_lines.count * line_bytes;
    sum.written_sectors += sectors.count;
    cycles += all_lines * (is_whole ? whole_written_line : written_line);
    return w.costs.wait_for_memory(cost, 1, 0, 0);
  }
  unsigned missed = 0, bursts = 0;
  std::uint64_t last = ~0ull;
  for (unsigned i = 0; i < sectors.count; ++i) {
    if (!access.bypasses_l1 && w.block->costs.touch(sectors.values[i], w.worker->launch->l1_sectors))
      continue;
    ++missed;
    const std::uint64_t burst = sectors.values[i] / (burst_bytes / sector_bytes);
    if (burst != last) ++bursts;
    last = burst;
  }
  sum.read_sectors += missed;
  sum.read_bursts += bursts;
  AccessCounts passes;
  count_passes(request, true, passes);
  double turns = std::max(static_cast<double>(passes.transactions), std::ceil(all_lines * tag));
  if (missed != 0) turns = std::max(turns, all_lines * missed_line + 0.4);
  cycles += summable(turns);
  w.costs.wait_for_memory(cost, static_cast<std::uint32_t>(turns), missed != 0 ? l2_latency : l1_latency,
                          missed != 0 ? memory_latency : l1_latency);
}

}  // namespace cushim::ptx::execute
