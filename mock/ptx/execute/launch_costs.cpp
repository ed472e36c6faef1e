// SPDX-License-Identifier: Apache-2.0
#include "execute/launch_costs.hpp"

#include <algorithm>

namespace cushim::ptx::execute {
namespace {

// Returns the bytes of the union of the extents.
std::uint64_t covered(std::vector<Extent> extents, bool only_atomics) {
  std::erase_if(extents, [&](const Extent &one) { return one.end == 0 || (only_atomics && !one.is_atomic); });
  std::ranges::sort(extents, {}, &Extent::begin);
  std::uint64_t bytes = 0, end = 0;
  for (const Extent &one : extents) {
    const std::uint64_t begin = std::max(one.begin, end);
    if (one.end > begin) bytes += one.end - begin;
    end = std::max(end, one.end);
  }
  return bytes;
}

}  // namespace

bool belongs_to_sample(const Launch &launch, std::uint64_t index) {
  const std::uint64_t parts = launch.sampled_clusters, part = index * parts / launch.clusters;
  const std::uint64_t first = (part * launch.clusters + parts - 1) / parts,
                      next = ((part + 1) * launch.clusters + parts - 1) / parts;
  constexpr std::uint64_t golden = 0x9e3779b9;  // 2^32 / 1.618
  const std::uint64_t place = (part + 1) * golden & 0xffffffff;
  return first + ((next - first) * place >> 32) == index;
}

void start_costs(Cluster &cluster) {
  for (const auto &block : cluster.blocks) {
    block->costs.sectors.clear();
    for (const auto &w : block->warps) w->costs.start(block->code->functions.size());
  }
}

void add_costs(Worker &worker, const Cluster &cluster) {
  SampledCosts &costs = worker.costs;
  for (const auto &block : cluster.blocks) {
    Times longest;
    for (const auto &w : block->warps) {
      longest.in_l2 = std::max(longest.in_l2, w->costs.now.in_l2);
      longest.in_memory = std::max(longest.in_memory, w->costs.now.in_memory);
    }
    ++costs.blocks;
    costs.warps += block->warps.size();
    costs.path_in_l2 += longest.in_l2;
    costs.path_in_memory += longest.in_memory;
  }
}

void merge_costs(Launch &launch, const Worker &worker) {
  launch.costs += worker.costs;
  if (launch.extents.empty()) launch.extents.resize(worker.extents.size());
  for (std::size_t i = 0; i < launch.extents.size(); ++i) {
    Extent &to = launch.extents[i];
    const Extent &from = worker.extents[i];
    to.begin = std::min(to.begin, from.begin);
    to.end = std::max(to.end, from.end);
    to.is_atomic = to.is_atomic || from.is_atomic;
  }
}

std::shared_ptr<const SampledCosts> costs_of(const Launch &launch) {
  auto costs = std::make_shared<SampledCosts>(launch.costs);
  costs->extent = covered(launch.extents, false);
  costs->atomic_extent = covered(launch.extents, true);
  return costs;
}

}  // namespace cushim::ptx::execute
